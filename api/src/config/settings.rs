//! Every setting there is, with its default. `examples/switchyard.toml` explains each; a test holds
//! the two together.
//!
//! A setting is taken from, last one wins: the default here, the file, the environment
//! (`SWITCHYARD_` and the path with two underscores, as in `SWITCHYARD_SERVER__LISTEN`), the
//! command line. An unknown name is an error, so that a typing mistake does not leave a default in
//! place unseen.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use serde::{Deserialize, Serialize, Serializer};
use switchyard_core::secret::Secret;
use switchyard_engine::quota::{LimitSettings, PayoutLimits};
use url::Url;

use super::units::{Bytes, DurationSetting};

macro_rules! sections {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $kind:ty = $default:expr,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name { $($(#[$field_doc])* pub $field: $kind,)* }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }
    )*};
}

sections! {
    /// All settings.
    Settings {
        /// Development mode: a seeded app, keys printed, private webhook targets, mails written to
        /// files. Never for real money.
        development: bool = false,
        service: Service = Service::default(),
        server: Server = Server::default(),
        data: Data = Data::default(),
        store: Store = Store::default(),
        secrets: Secrets = Secrets::default(),
        operator: Operator = Operator::default(),
        payment: Payment = Payment::default(),
        rate_limit: RateLimit = RateLimit::default(),
        limits: Limits = Limits::default(),
        webhook: Webhook = Webhook::default(),
        mail: Mail = Mail::default(),
        sandbox: Sandbox = Sandbox::default(),
        actors: Actors = Actors::default(),
        gateways: Gateways = Gateways::default(),
        exchange: Exchange = Exchange::default(),
        log: Log = Log::default(),
        metrics: Metrics = Metrics::default(),
        telemetry: Telemetry = Telemetry::default(),
        console: Console = Console::default(),
        openid: OpenId = OpenId::default(),
    }

    /// The name under which this installation runs.
    Service {
        /// Prefix of keys and of the demo methods' codes: 1 to 20 lower-case letters and digits.
        code: String = "switchyard".to_owned(),
        /// Name on pages and in mails.
        name: String = "Switchyard".to_owned(),
        /// Folder with icons of methods: `mtn_bj.svg` of that method, and of a brand under the
        /// codes without their last part: `mtn.png`. Without it: drawn ones.
        icons: Option<PathBuf> = None,
    }

    /// The HTTP server.
    Server {
        /// Address and port to listen on.
        listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 8080)),
        /// Address and port for `/healthz`, `/readyz`, `/metrics` and `/operator/v1`. Without it:
        /// 127.0.0.1:8081, and in development mode the listen address.
        admin_listen: Option<SocketAddr> = None,
        /// Connections at once. Without it: as many as the limit on open files leaves, at most
        /// 10,000.
        max_connections: Option<u32> = None,
        /// Connections at once of one client address that is not a trusted proxy. 0: no limit.
        max_connections_per_address: u32 = 256,
        /// Event streams of checkout pages at once. Without it: a quarter of the connections.
        max_streams: Option<u32> = None,
        /// Event streams at once of one client address. 0: no limit.
        max_streams_per_address: u32 = 64,
        /// Event streams at once of one payment. 0: no limit.
        max_streams_per_payment: u32 = 8,
        /// URL of this server for clients and payers, without a path. Default: `http://` and the
        /// listen address.
        public_url: Option<Url> = None,
        /// Addresses or networks of proxies whose `X-Forwarded-For` is believed.
        trusted_proxies: Vec<String> = Vec::new(),
        /// Header in which a trusted proxy names the payer's country (ISO 3166-1 alpha-2).
        country_header: Option<String> = None,
        /// MaxMind DB file (`.mmdb`) in which the payer's country is looked up by address when no
        /// header names it.
        geoip_file: Option<PathBuf> = None,
        /// A request that takes longer is answered 503.
        request_timeout: DurationSetting = seconds(30),
        /// Time that the server still accepts connections after a stop signal; `/readyz` is 503.
        shutdown_delay: DurationSetting = seconds(1),
        /// Timeout of open requests after a stop signal.
        shutdown_timeout: DurationSetting = seconds(30),
    }

    /// The console, pages for the users of merchants and operators.
    Console {
        /// URL of the console for its users, without a path. Without it the console is off, but in
        /// development mode, where it is part of the server.
        public_url: Option<Url> = None,
        /// Address and port to listen on for it.
        listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 8082)),
    }

    /// Sign-in to the console by an OpenID Connect provider.
    OpenId {
        /// Issuer of the provider, exactly as the provider writes it. Without it users sign in with
        /// their passwords only.
        issuer: Option<String> = None,
        /// Id of this installation at the provider.
        client_id: Option<String> = None,
        /// Secret of this installation at the provider. For the environment, not for a file.
        #[serde(serialize_with = "masked")]
        client_secret: Option<Secret<String>> = None,
        /// File with the secret, closed to other users than the server's.
        client_secret_file: Option<PathBuf> = None,
        /// Name of the provider on the sign-in page. Without it: the host of the issuer.
        name: Option<String> = None,
        /// Scopes that are requested; `openid` and `email` are needed.
        scopes: Vec<String> = ["openid", "email", "profile"].map(str::to_owned).into(),
        /// Whether an e-mail address counts as verified when the provider does not say whether it
        /// is. `false` of the provider is always respected.
        trust_email: bool = false,
        /// Values of the claim `amr` with which a second factor of the provider counts. Without a
        /// value here or in `second_factor_acr`, users need their authenticator as well.
        second_factor_amr: Vec<String> = Vec::new(),
        /// Values of the claim `acr` with which it counts; they are requested from the provider.
        second_factor_acr: Vec<String> = Vec::new(),
        /// Whether users who have signed in by the provider may use their password as well.
        password_sign_in: bool = true,
    }

    /// Data folder.
    Data {
        /// Data folder, created if missing.
        dir: PathBuf = PathBuf::from("data"),
    }

    /// The embedded store.
    Store {
        /// `sqlite`, `sled`, or `memory` (development mode only: it forgets all).
        backend: StoreBackend = StoreBackend::Sqlite,
        /// Folder of the store. Without it: `store` in the data folder.
        path: Option<PathBuf> = None,
        /// Memory for rows that were read from disk.
        cache: Bytes = Bytes(64 << 20),
        /// While less is free on the store's disk, new payments and payouts are refused (503).
        reserve: Bytes = Bytes(512 << 20),
        /// The same for requests with a public key.
        public_key_reserve: Bytes = Bytes(1 << 30),
        /// Time between two checks of the whole store.
        check_every: DurationSetting = DurationSetting(Duration::from_secs(24 * 60 * 60)),
        /// Folder for scheduled backups. Without it there are none.
        backup_to: Option<PathBuf> = None,
        /// Time between two backups.
        backup_every: DurationSetting = DurationSetting(Duration::from_secs(24 * 60 * 60)),
        /// Number of scheduled backups that are kept.
        backup_keep: u32 = 7,
        /// Folder for a continuous copy. Without it there is none.
        copy_to: Option<PathBuf> = None,
        /// Time between two rounds of the continuous copy, at most 5 seconds.
        copy_every: DurationSetting = seconds(5),
    }

    /// Encryption of credentials at rest.
    Secrets {
        /// File with the master key, readable for its owner only. Without it: `master.key` in the
        /// data folder.
        master_key_file: Option<PathBuf> = None,
        /// The master key itself, 64 hexadecimal characters. For the environment, not for a file.
        #[serde(serialize_with = "masked")]
        master_key: Option<Secret<String>> = None,
    }

    /// Access to the operator API.
    Operator {
        /// `name:sha256:<hash>` of operator tokens, as `switchyard operator-token` prints them.
        tokens: Vec<String> = Vec::new(),
        /// Whether a second operator approves each manual resolution in the console. Operator
        /// tokens then resolve nothing.
        second_person: bool = false,
    }

    /// Payments.
    Payment {
        /// A payment without an attempt in progress is cancelled after this time.
        expires_after: DurationSetting = seconds(30 * 60),
        /// Countries (ISO 3166-1 alpha-2) that the checkout page does not offer, and to which no
        /// payment can be restricted.
        excluded_countries: Vec<String> = Vec::new(),
    }

    /// Requests of one API key, and of clients without one.
    RateLimit {
        /// Requests in any 60 s with a secret key, and with a public key from one client address.
        /// 0: no limit at all.
        per_minute: u32 = 120,
        /// Requests in any 60 s with a public key, from all addresses together.
        public_key_per_minute: u32 = 6_000,
        /// Requests in any 60 s without a key from one client address. 0: no limit.
        without_key_per_minute: u32 = 1_200,
    }

    /// Limits on prompts to payers and on payouts. They apply in live; 0: no limit.
    Limits {
        /// Confirmations in 15 minutes that name one phone number.
        prompts_per_number: u32 = 5,
        /// Confirmations in 15 minutes from one client address.
        prompts_per_address: u32 = 60,
        /// Confirmations in 15 minutes of one payment.
        prompts_per_payment: u32 = 10,
        /// Codes that payers submit, for each confirmation that the limits above allow.
        codes_per_prompt: u32 = 3,
        /// Payouts of an app to one recipient in 24 hours.
        payouts_per_recipient: u32 = 20,
        /// Payouts of an app in 24 hours.
        payouts_per_day: u32 = 10_000,
        /// Amounts that an app pays out in 24 hours, in major units by currency: `XOF 60000000`.
        payout_amount_per_day: Vec<String> = daily_amounts(),
        /// Whether the limits apply in sandbox as well.
        sandbox: bool = false,
    }

    /// Webhook delivery.
    Webhook {
        /// Further header names that carry the same value as `X-Service-Signature`.
        signature_headers: Vec<String> = Vec::new(),
        /// Further attempts after the first.
        retries: u32 = 3,
        /// At least this long between two attempts.
        retry_after: DurationSetting = seconds(10 * 60),
        /// Whether webhooks may point to private and loopback addresses. Without it: in development
        /// mode only.
        allow_private: Option<bool> = None,
        /// Addresses and networks that webhooks may reach although they are private: `10.1.0.0/16`.
        private_targets: Vec<String> = Vec::new(),
        /// Whether webhooks may be sent over `http://`. Development mode allows it.
        allow_http: bool = false,
        /// Ports that webhooks may use besides 443 and 80. Development mode allows all.
        extra_ports: Vec<u16> = Vec::new(),
        /// Days for which attempts at live deliveries are kept. The deliveries themselves stay.
        live_log_days: u32 = 180,
    }

    /// Outgoing mail.
    Mail {
        /// `smtps://user:password@host` or `smtp://host:port?tls=required`. Without it: development
        /// mode writes files, else no mails.
        #[serde(serialize_with = "masked")]
        smtp_url: Option<Secret<String>> = None,
        /// Whether mails may go over a line without TLS to another machine. Never a password.
        allow_plaintext: bool = false,
        /// Sender. Without it: the service's name and `no-reply@` the public host.
        from: Option<String> = None,
    }

    /// Sandbox data.
    Sandbox {
        /// Days after which sandbox transactions and customers are deleted.
        retention_days: u32 = 90,
    }

    /// Actors of live transactions.
    Actors {
        /// Time after which an idle transaction is removed from memory until it is needed.
        idle_after: DurationSetting = seconds(60),
    }

    /// Gateways.
    Gateways {
        /// Folder in which the operator puts gateways (`*.so`).
        dir: PathBuf = PathBuf::from("gateways"),
        /// Hosts with their ports that a gateway may reach at a private address and without https:
        /// a node of your own.
        private_hosts: Vec<String> = Vec::new(),
        /// SHA-256 of files that are taken on without a question, 64 hexadecimal characters each.
        pinned: Vec<String> = Vec::new(),
        /// Memory that the process of a gateway may use.
        worker_memory: Bytes = Bytes(512 << 20),
        /// Restrictions of that process that may be missing on this system, such as `landlock`.
        /// Without the name of a missing one no gateway is loaded. Development mode does without.
        accept_missing_walls: Vec<String> = Vec::new(),
    }

    /// Exchange rates.
    Exchange {
        /// URL of a rate feed: JSON such as `{"base": "EUR", "rates": {"USD": 1.08}}`.
        url: Option<Url> = None,
        /// How often.
        every: DurationSetting = DurationSetting(Duration::from_secs(60 * 60)),
        /// Age after which a fetched rate is not used.
        valid_for: DurationSetting = DurationSetting(Duration::from_secs(24 * 60 * 60)),
        /// The URL may be at a private address: a service of your own.
        private: bool = false,
        /// A fetched rate that differs by more than this from the last accepted one, or from the
        /// one with which the day (UTC) began, is held for an operator. Percent, 1 to 1000.
        max_change_percent: u32 = 10,
    }

    /// The log.
    Log {
        /// Log file. Default: standard error. SIGHUP reopens it.
        file: Option<PathBuf> = None,
        /// `text` for people, `json` for programs.
        format: LogFormat = LogFormat::Text,
        /// `error`, `warn`, `info`, `debug` or `trace`, or directives such as
        /// `info,switchyard_engine::webhook=debug`.
        level: String = "info".to_owned(),
        /// Whether each answered request is a line of the log, at level info.
        requests: bool = true,
    }

    /// `/metrics`.
    Metrics {
        /// Whether there is a `/metrics`.
        enabled: bool = true,
        /// Whether it answers without a token. Development mode always does.
        open: bool = false,
        /// `name:sha256:<hash>` of tokens that read `/metrics` and do nothing else, as `switchyard
        /// operator-token --metrics` prints them.
        tokens: Vec<String> = Vec::new(),
    }

    /// Traces for an OpenTelemetry collector.
    Telemetry {
        /// URL of the collector, OTLP over HTTP: `http://127.0.0.1:4318`. Without it there are no
        /// traces.
        otlp_url: Option<Url> = None,
        /// Value of the header `Authorization` for the collector.
        #[serde(serialize_with = "masked")]
        authorization: Option<Secret<String>> = None,
        /// Part of the traces that is recorded, 0 to 1.
        sample_ratio: f64 = 1.0,
        /// Whether requests to providers carry the header `traceparent`.
        inform_providers: bool = false,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoreBackend {
    Sqlite,
    Sled,
    Memory,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    Text,
    Json,
}

impl Settings {
    /// The public address, without a slash at its end.
    pub fn public_url(&self) -> String {
        match &self.server.public_url {
            Some(url) => url.as_str().trim_end_matches('/').to_owned(),
            None => format!("http://{}", self.server.listen),
        }
    }

    /// Address of the listener for operators, balancers and Prometheus; `None`: the public one
    /// serves them.
    pub fn admin_listen(&self) -> Option<SocketAddr> {
        let default = (!self.development).then_some(DEFAULT_ADMIN);
        let address = self.server.admin_listen.or(default);
        address.filter(|address| *address != self.server.listen)
    }

    /// Whether there is a console.
    pub fn has_console(&self) -> bool {
        self.development || self.console.public_url.is_some()
    }

    /// Address of the listener of the console; `None`: it is off, or the public one serves it.
    pub fn console_listen(&self) -> Option<SocketAddr> {
        let has_own = !self.development && self.has_console();
        has_own.then_some(self.console.listen)
    }

    /// The address of the console for its users, without a slash at its end.
    pub fn console_url(&self) -> String {
        match &self.console.public_url {
            Some(url) => url.as_str().trim_end_matches('/').to_owned(),
            None => self.public_url(),
        }
    }

    /// Secret of this installation at the OpenID Connect provider. `None`: it has none.
    ///
    /// # Errors
    /// When the file cannot be read, or others can.
    pub fn openid_secret(&self) -> io::Result<Option<Secret<String>>> {
        let Some(file) = &self.openid.client_secret_file else {
            return Ok(self.openid.client_secret.clone());
        };
        let mode = fs::metadata(file)?.permissions().mode() & 0o777;
        if mode & 0o007 != 0 {
            let why = format!("it can be read by others (mode {mode:o}): run `chmod 600` on it");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let secret = fs::read_to_string(file)?.trim().to_owned();
        match secret.is_empty() {
            true => Err(io::Error::new(io::ErrorKind::InvalidData, "it is empty")),
            false => Ok(Some(Secret::new(secret))),
        }
    }

    pub fn store_path(&self) -> PathBuf {
        let chosen = self.store.path.clone();
        chosen.unwrap_or_else(|| self.data.dir.join("store"))
    }

    /// The folder of the engine's own copies of gateways.
    pub fn gateway_copies(&self) -> PathBuf {
        self.data.dir.join("gateways")
    }

    pub fn master_key_path(&self) -> PathBuf {
        let chosen = self.secrets.master_key_file.clone();
        chosen.unwrap_or_else(|| self.data.dir.join("master.key"))
    }

    /// Whether webhooks may point to private addresses.
    pub fn webhooks_may_be_private(&self) -> bool {
        self.webhook.allow_private.unwrap_or(self.development)
    }
}

/// Next to the default of `server.listen`, and for this machine only.
const DEFAULT_ADMIN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8081);

impl Webhook {
    /// The networks of `private_targets`.
    ///
    /// # Errors
    /// The text that is neither an address nor a network, or is wider than any private network.
    pub fn private_networks(&self) -> Result<Vec<IpNet>, String> {
        let read = |text: &String| Self::private_network(text).ok_or_else(|| text.clone());
        self.private_targets.iter().map(read).collect()
    }

    /// Reads an entry of `private_targets`; `None` for text that `private_networks` rejects.
    pub fn private_network(text: &str) -> Option<IpNet> {
        let network = text.parse::<IpNet>().ok();
        let network = network.or_else(|| Some(IpNet::from(text.parse::<IpAddr>().ok()?)));
        network.filter(|network| match network {
            IpNet::V4(network) => network.prefix_len() >= 8,
            IpNet::V6(network) => network.prefix_len() >= 7,
        })
    }
}

impl Limits {
    /// The limits as the engine takes them.
    ///
    /// # Errors
    /// A sentence about an amount that cannot be read.
    pub fn for_engine(&self) -> Result<LimitSettings, String> {
        let amounts = self.payout_amount_per_day.iter().map(|text| {
            let (currency, amount) = text.split_once(' ').ok_or_else(|| {
                format!("holds `{text}`: write a currency and an amount, as in XOF 60000000")
            })?;
            Ok((currency.to_owned(), amount.trim().to_owned()))
        });
        let payouts = PayoutLimits {
            per_recipient: Some(self.payouts_per_recipient),
            per_day: Some(self.payouts_per_day),
            amount_per_day: amounts.collect::<Result<_, String>>()?,
        };
        payouts.check()?;
        Ok(LimitSettings {
            prompts_per_number: self.prompts_per_number,
            prompts_per_address: self.prompts_per_address,
            prompts_per_payment: self.prompts_per_payment,
            codes_per_prompt: self.codes_per_prompt,
            payouts,
            in_sandbox: self.sandbox,
        })
    }
}

/// The engine's own amounts, as lines of the settings.
fn daily_amounts() -> Vec<String> {
    let amounts = LimitSettings::default().payouts.amount_per_day;
    let line = |(currency, amount)| format!("{currency} {amount}");
    amounts.into_iter().map(line).collect()
}

const fn seconds(count: u64) -> DurationSetting {
    DurationSetting(Duration::from_secs(count))
}

/// Serializes a secret as a mask: only its presence is visible.
fn masked<S: Serializer>(
    secret: &Option<Secret<String>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match secret {
        Some(_) => serializer.serialize_str("***"),
        None => serializer.serialize_none(),
    }
}
