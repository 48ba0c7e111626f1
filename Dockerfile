# syntax=docker/dockerfile:1
# Image of Switchyard with its bundled gateways. The arguments name the commit for `--version`:
#   docker build -t switchyard --build-arg COMMIT=$(git rev-parse --short=12 HEAD) \
#     --build-arg COMMIT_DATE=$(git log -1 --format=%cs) .
# The data is in /var/lib/switchyard, the master key in /etc/switchyard/key: mount a volume on each.
# Everything else may be read-only. `compose.yaml` shows how to run it.

FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
ARG COMMIT=""
ARG COMMIT_DATE=""
RUN SWITCHYARD_COMMIT=$COMMIT SWITCHYARD_COMMIT_DATE=$COMMIT_DATE cargo xtask stage --release --auditable \
    && strip target/stage/release/switchyard \
    && install -d /out/gateways \
    && install -m 755 target/stage/release/switchyard /out/ \
    && install -m 644 target/stage/release/gateways/* /out/gateways/

FROM debian:bookworm-slim
RUN groupadd --system --gid 10001 switchyard \
    && useradd --system --uid 10001 --gid 10001 --home-dir /var/lib/switchyard \
        --shell /usr/sbin/nologin switchyard \
    && install -d -m 700 -o switchyard -g switchyard \
        /var/lib/switchyard /etc/switchyard /etc/switchyard/key
COPY --from=build /out/switchyard /usr/local/bin/switchyard
COPY --from=build /out/gateways /usr/local/lib/switchyard/gateways
ENV SWITCHYARD_SERVER__LISTEN=0.0.0.0:8080 \
    SWITCHYARD_SERVER__ADMIN_LISTEN=0.0.0.0:8081 \
    SWITCHYARD_DATA__DIR=/var/lib/switchyard \
    SWITCHYARD_GATEWAYS__DIR=/usr/local/lib/switchyard/gateways \
    SWITCHYARD_SECRETS__MASTER_KEY_FILE=/etc/switchyard/key/master.key
USER 10001:10001
WORKDIR /var/lib/switchyard
VOLUME ["/var/lib/switchyard", "/etc/switchyard/key"]
EXPOSE 8080 8081
# Longer than the time that the server takes to end (server.shutdown_timeout): docker stop -t 60.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8081 && printf 'GET /readyz HTTP/1.0\\r\\n\\r\\n' >&3 && head -n 1 <&3 | grep -q ' 200 '"]
ENTRYPOINT ["/usr/local/bin/switchyard"]
CMD ["serve"]
