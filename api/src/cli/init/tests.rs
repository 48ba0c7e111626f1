//! New installations in temporary folders.

use std::fs::{self, Permissions};
use std::io::Cursor;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use switchyard_system::ids::Ids;
use tempfile::TempDir;

use super::files::Installation;
use super::options::InitOptions;
use super::questions::Terminal;
use crate::config::{Overrides, StoreBackend, examine};

/// InitOptions for an installation below this folder.
fn options(root: &Path) -> InitOptions {
    InitOptions {
        public_url: "https://pay.example.com".to_owned(),
        listen: "127.0.0.1:8080".parse().unwrap(),
        admin_listen: "127.0.0.1:8081".parse().unwrap(),
        trusted_proxies: Vec::new(),
        settings: root.join("etc/switchyard"),
        data: root.join("var/switchyard"),
        gateways: root.join("gateways"),
        smtp_url: None,
        store: StoreBackend::Sqlite,
        operator: "ada".to_owned(),
    }
}

fn text(options: &InitOptions) -> String {
    options.settings_file(&format!("sha256:{}", "1a".repeat(32)))
}

/// Every file and folder below a folder, with its mode.
fn tree(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let mode = path.metadata().unwrap().permissions().mode() & 0o7777;
            let name = path.strip_prefix(root).unwrap().display().to_string();
            found.push(format!("{name} {mode:o}"));
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn what_is_written_can_be_read_by_its_owner_only_and_has_no_problem() {
    let root = TempDir::new().unwrap();
    let options = options(root.path());
    let text = text(&options);
    options.check(&text).unwrap();
    let written = Installation::of(&options)
        .write(&text, &Ids::system())
        .unwrap();
    let settings = written.settings.clone();
    written.keep();
    assert_eq!(
        tree(root.path()),
        [
            "etc 700",
            "etc/switchyard 700",
            "etc/switchyard/master.key 600",
            "etc/switchyard/switchyard.toml 600",
            "var 700",
            "var/switchyard 700",
        ]
    );
    let examined = examine(Some(&settings), &Overrides::default());
    assert!(examined.problems.is_empty(), "{:#?}", examined.problems);
    assert!(!examined.settings.development);
    assert_eq!(examined.settings.public_url(), "https://pay.example.com");
}

#[test]
fn an_existing_installation_is_not_changed() {
    for existing in [
        "etc/switchyard/switchyard.toml",
        "etc/switchyard/master.key",
        "var/switchyard/store",
    ] {
        let root = TempDir::new().unwrap();
        let file = root.path().join(existing);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "mine").unwrap();
        let before = tree(root.path());
        let options = options(root.path());
        let written = Installation::of(&options).write(&text(&options), &Ids::system());
        let refusal = written.err().unwrap().to_string();
        assert!(refusal.contains(existing), "{refusal}");
        assert_eq!(tree(root.path()), before, "{existing}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    }
}

#[test]
fn a_failure_half_way_leaves_nothing_behind() {
    // The data folder cannot be made after the settings folder was.
    let root = TempDir::new().unwrap();
    fs::write(root.path().join("var"), "a file").unwrap();
    let before = tree(root.path());
    let of = options(root.path());
    let written = Installation::of(&of).write(&text(&of), &Ids::system());
    let refusal = format!("{:#}", written.err().unwrap());
    assert!(refusal.contains("--data"), "{refusal}");
    assert_eq!(tree(root.path()), before);

    // The files were written, and the token could not be printed.
    let root = TempDir::new().unwrap();
    let of = options(root.path());
    let written = Installation::of(&of)
        .write(&text(&of), &Ids::system())
        .unwrap();
    assert!(written.settings.exists() && written.master_key.exists());
    drop(written);
    assert_eq!(tree(root.path()), Vec::<String>::new());
}

#[test]
fn a_settings_folder_that_others_can_write_to_is_refused() {
    let root = TempDir::new().unwrap();
    let options = options(root.path());
    fs::create_dir_all(&options.settings).unwrap();
    fs::set_permissions(&options.settings, Permissions::from_mode(0o777)).unwrap();
    let written = Installation::of(&options).write(&text(&options), &Ids::system());
    let refusal = written.err().unwrap().to_string();
    assert!(refusal.contains("chmod go-w"), "{refusal}");
    assert!(!options.data.exists());
}

#[test]
fn a_folder_of_another_user_is_refused() {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        // Only root can give a folder to another user.
        return;
    }
    for given in ["etc/switchyard", "var/switchyard"] {
        let root = TempDir::new().unwrap();
        let folder = root.path().join(given);
        fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::chown(&folder, Some(54321), None).unwrap();
        let before = tree(root.path());
        let of = options(root.path());
        let written = Installation::of(&of).write(&text(&of), &Ids::system());
        let refusal = written.err().unwrap().to_string();
        assert!(
            refusal.contains("run the command as that user"),
            "{refusal}"
        );
        assert_eq!(tree(root.path()), before);
    }
}

#[test]
fn answers_that_a_start_would_refuse_are_refused_before_anything_is_written() {
    let root = TempDir::new().unwrap();
    let with = |change: &dyn Fn(&mut InitOptions)| {
        let mut options = options(root.path());
        change(&mut options);
        options
            .check(&text(&options))
            .err()
            .map(|error| error.to_string())
    };
    let url = |options: &mut InitOptions| options.public_url = "http://pay.example.com".into();
    let listen = |options: &mut InitOptions| options.admin_listen = options.listen;
    let smtp = |options: &mut InitOptions| {
        options.smtp_url = Some("smtp://u:hunter2@mail.example.com".to_owned().into());
    };
    let relative = |options: &mut InitOptions| options.data = "data".into();
    let nothing = |_: &mut InitOptions| {};
    assert_eq!(with(&nothing), None);
    for (change, word) in [
        (&url as &dyn Fn(&mut InitOptions), "server.public_url"),
        (&smtp, "mail.smtp_url"),
        (&relative, "absolute path"),
    ] {
        let refusal = with(change).unwrap();
        assert!(refusal.contains(word), "{refusal}");
        assert!(!refusal.contains("hunter2"), "{refusal}");
    }
    assert!(with(&listen).is_none(), "one listener for both is a choice");
    assert_eq!(tree(root.path()), Vec::<String>::new());
}

#[test]
fn texts_are_quoted_and_a_proxy_is_trusted_only_beside_a_loopback_address() {
    let mut options = options(Path::new("/a \"b\""));
    options.operator = "Ada \\ \"L\"".to_owned();
    let read: crate::config::Settings = toml::from_str(&text(&options)).unwrap();
    assert_eq!(read.data.dir, options.data);
    assert!(read.operator.tokens[0].starts_with("Ada \\ \"L\":sha256:"));
    assert_eq!(read.server.trusted_proxies, ["127.0.0.1"]);
    options.listen = "0.0.0.0:8080".parse().unwrap();
    let read: crate::config::Settings = toml::from_str(&text(&options)).unwrap();
    assert!(read.server.trusted_proxies.is_empty());
}

#[test]
fn the_default_folders_are_those_of_the_systemd_unit() {
    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        init: super::Init,
    }
    let command = <Command as clap::Parser>::parse_from(["init"]);
    let options = command.init.options();
    let unit = include_str!("../../../../ops/systemd/switchyard.service");
    let settings = options.settings.join("switchyard.toml");
    assert!(unit.contains(&format!("--config {}\n", settings.display())));
    assert_eq!(settings, Path::new(super::OF_UNIT));
    let state = options.data.strip_prefix("/var/lib").unwrap();
    assert!(unit.contains(&format!("StateDirectory={}\n", state.display())));
}

#[test]
fn questions_are_repeated_until_an_answer_can_be_read() {
    let mut asked = options(Path::new("/"));
    asked.public_url = String::new();
    let lines = "\nhttp://pay.example.com\nhttps://pay.example.com\n\nnowhere\n10.0.0.5:9000\n\
                 relative\n/etc/pay\n\n\nsmtps://u:p@mail.example.com\nGrace\nmaybe\nno\n";
    let mut shown = Vec::new();
    let mut terminal = Terminal::new(Cursor::new(lines), &mut shown);
    terminal.ask(&mut asked).unwrap();
    assert!(!terminal.confirm(&asked).unwrap());
    assert_eq!(asked.public_url, "https://pay.example.com");
    assert_eq!(asked.listen, "127.0.0.1:8080".parse().unwrap());
    assert_eq!(asked.admin_listen, "10.0.0.5:9000".parse().unwrap());
    assert_eq!(asked.settings, Path::new("/etc/pay"));
    assert_eq!(
        asked.smtp_url.unwrap().expose(),
        "smtps://u:p@mail.example.com"
    );
    assert_eq!(asked.operator, "Grace");
    let shown = String::from_utf8(shown).unwrap();
    for words in [
        "is needed",
        "https://",
        "no address with a port",
        "no absolute path",
    ] {
        assert!(shown.contains(words), "{shown}");
    }
    let mut ended = Terminal::new(Cursor::new("\n"), Vec::new());
    let error = ended.ask(&mut options(Path::new("/"))).unwrap_err();
    assert!(error.to_string().contains("nothing was written"), "{error}");
}
