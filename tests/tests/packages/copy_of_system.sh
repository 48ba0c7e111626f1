# Runs a command on a copy of this system. What it changes is in memory and gone at its end.
#
# It runs in a mount namespace of its own. COPY: an empty folder. SHARED: folders that the command
# reads and that may be on another disk, separated by colons.
set -eu
mount -t tmpfs -o mode=755 copy "$COPY"
mkdir "$COPY/changed" "$COPY/work" "$COPY/root"
mount -t overlay -o "lowerdir=/,upperdir=$COPY/changed,workdir=$COPY/work" copy "$COPY/root"
for folder in /dev /proc /sys; do
    mount --rbind "$folder" "$COPY/root$folder"
done
IFS=:
for folder in $SHARED; do
    mkdir -p "$COPY/root$folder"
    mount --rbind "$folder" "$COPY/root$folder"
done
unset IFS
cd "$COPY/root"
mkdir .outside
# Not chroot: in it the kernel refuses the user namespaces of gateway processes.
pivot_root . .outside
cd /
umount --lazy /.outside
exec "$@" --include-ignored
