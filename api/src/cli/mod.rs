//! The command line: `switchyard serve`, and the operator's commands for a running server.
//!
//! Exit codes: 0 success; 1 failure; 2 wrong usage, or invalid settings; 3 the change is stored and
//! awaits the approval of a second operator.

mod account;
mod accounts;
mod apps;
mod callbacks;
mod cases;
mod client;
mod config;
mod connections;
mod doctor;
mod gateway_author;
mod gateway_text;
mod gateway_worker;
mod gateways;
mod generate;
mod init;
mod keys;
mod listen;
mod local;
mod output;
mod rates;
mod release;
mod report;
mod reseal;
mod routing;
mod routing_text;
mod serve;
mod shell;
mod statistics;
mod store;
mod store_progress;
mod timeline;
mod tokens;
mod transactions;
mod trigger;
mod users;
mod webhooks;

use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory as _, Parser, Subcommand};

use self::client::{Client, Target};
use self::gateway_author::Gateway;
use crate::version;

/// A payment and payout engine: one API for merchants, any provider behind it.
#[derive(Parser)]
#[command(name = "switchyard", version = version::described())]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    target: Target,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server
    Serve(serve::Serve),
    /// Make a production installation: settings, master key, first operator token
    #[command(after_help = init::EXAMPLE)]
    Init(init::Init),
    /// Check the settings
    #[command(subcommand)]
    Config(config::Config),
    /// Examine an installation, running or stopped, and say what to do
    #[command(after_help = doctor::EXAMPLE)]
    Doctor(doctor::Doctor),
    /// Create a master key in a new file
    MasterKey(local::NewMasterKey),
    /// Encrypt all secrets of a stopped server with a new master key
    Reseal(reseal::Reseal),
    /// Check, back up, restore and query the store
    #[command(subcommand)]
    Store(store::Store),
    /// Create an operator token for the settings file
    OperatorToken(local::NewToken),
    /// Print completions of the commands for a shell
    Completions(generate::Completions),
    /// Write the man pages, for packages
    #[command(hide = true)]
    ManPages(generate::ManPages),
    #[command(hide = true)]
    GatewayWorker(gateway_worker::GatewayWorker),
    /// Manage gateways: begin and check one; add, upgrade, roll back, drain, remove, restore
    #[command(subcommand, visible_alias = "gateways")]
    Gateway(Gateway),
    /// Use an account as one of its users: the commands of the account API
    Account(Box<account::Account>),
    #[command(flatten)]
    Remote(Box<Remote>),
}

/// Commands to a running server.
#[derive(Subcommand)]
enum Remote {
    /// Manage accounts: merchants' organisations
    #[command(subcommand)]
    Accounts(accounts::Accounts),
    /// Manage apps: merchants' integrations and their settings
    #[command(subcommand)]
    Apps(apps::Apps),
    /// Manage API keys of an app
    #[command(subcommand)]
    Keys(keys::Keys),
    /// Manage webhooks of an app
    #[command(subcommand)]
    Webhooks(webhooks::Webhooks),
    /// Manage connections: gateways with an app's credentials
    #[command(subcommand)]
    Connections(connections::Connections),
    /// Show and reprocess callbacks of providers
    #[command(subcommand)]
    Callbacks(callbacks::Callbacks),
    /// Manage and simulate routing rules
    #[command(subcommand)]
    Routing(routing::Routing),
    /// Show, check, resolve and cancel payments and payouts
    #[command(subcommand)]
    Transactions(transactions::Transactions),
    /// Show numbers, rates and sums of an app's payments or payouts
    Statistics(statistics::Statistics),
    /// Manage cases that need manual review
    #[command(subcommand)]
    Cases(cases::Cases),
    /// Let attempts start again after a restore, or report what was open
    Release(release::Release),
    /// Manage operator tokens of the server
    #[command(subcommand)]
    Tokens(tokens::Tokens),
    /// Invite the first users of the console, and list all
    #[command(subcommand)]
    Users(users::Users),
    /// Manage exchange rates
    #[command(subcommand)]
    Rates(rates::Rates),
    /// Stream an app's events, and forward them to a URL of your machine
    Listen(listen::Listen),
    /// Create a sandbox payment or payout that ends with an event
    Trigger(trigger::Trigger),
}

/// Definition of the command line, for the reference of the book.
pub fn commands() -> clap::Command {
    Cli::command()
}

/// Entry point of the program.
pub fn main() -> ExitCode {
    let line = Cli::parse();
    // Run before the runtime starts: the worker's sandbox requires a single-threaded process.
    if let Command::GatewayWorker(worker) = line.command {
        return worker.run();
    }
    // Cryptography provider of every TLS client in the process. An error means that it is already
    // installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // At least two: gateway steps may occupy half of the threads and may not return.
    let threads = std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => {
            let code = runtime.block_on(run(line));
            // All state is durable by now. Do not wait for a hung gateway call.
            runtime.shutdown_timeout(SHUTDOWN_GRACE);
            code
        }
        Err(why) => {
            failed(&anyhow::Error::new(why).context("the operating system gives no threads"))
        }
    }
}

/// Time that a stopping server waits for threads occupied by gateways.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

async fn run(line: Cli) -> ExitCode {
    let done = match line.command {
        Command::Serve(serve) => return serve.run().await,
        Command::Init(init) => init.run(line.target.json),
        Command::Config(config) => return config.run(line.target.json),
        Command::Doctor(doctor) => return doctor.run(&line.target).await,
        Command::MasterKey(new) => new.run(),
        Command::Reseal(reseal) => reseal.run().await,
        Command::Store(store) => store.run(line.target.json),
        Command::OperatorToken(new) => new.run(),
        Command::Completions(completions) => completions.run(Cli::command()),
        Command::ManPages(pages) => pages.run(Cli::command()),
        Command::GatewayWorker(worker) => return worker.run(),
        Command::Gateway(Gateway::New(new)) => gateway_author::create(&new),
        Command::Gateway(Gateway::Check(check)) => {
            return gateway_author::check(&check, line.target.json).await;
        }
        Command::Gateway(Gateway::OfServer(gateways)) => gateways.run(&line.target).await,
        Command::Account(account) => account.run(&line.target).await,
        Command::Remote(remote) => remote.run(&line.target).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => failed(&why),
    }
}

impl Remote {
    async fn run(self, target: &Target) -> anyhow::Result<()> {
        let client = Client::new(target)?;
        match self {
            Self::Accounts(accounts) => accounts.run(&client).await,
            Self::Apps(apps) => apps.run(&client).await,
            Self::Keys(keys) => keys.run(&client).await,
            Self::Webhooks(webhooks) => webhooks.run(&client).await,
            Self::Connections(connections) => connections.run(&client).await,
            Self::Callbacks(callbacks) => callbacks.run(&client).await,
            Self::Routing(routing) => routing.run(&client).await,
            Self::Transactions(transactions) => transactions.run(&client).await,
            Self::Statistics(statistics) => statistics.run(&client).await,
            Self::Cases(cases) => cases.run(&client).await,
            Self::Release(release) => release.run(&client).await,
            Self::Rates(rates) => rates.run(&client).await,
            Self::Tokens(tokens) => tokens.run(&client).await,
            Self::Users(users) => users.run(&client).await,
            Self::Listen(listen) => listen.run(&client).await,
            Self::Trigger(trigger) => trigger.run(&client).await,
        }
    }
}

fn failed(why: &anyhow::Error) -> ExitCode {
    eprintln!("switchyard: {why:#}");
    ExitCode::from(code_of(why))
}

fn code_of(why: &anyhow::Error) -> u8 {
    match why.is::<gateways::AwaitsApproval>() {
        true => 3,
        false => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn only_the_program_has_a_version_and_a_command_refuses_the_option() {
        let code = |line: &str| {
            let parsed = Cli::try_parse_from(line.split(' '));
            parsed.err().map(|why| why.exit_code())
        };
        assert_eq!(code("switchyard --version"), Some(0));
        for line in [
            "switchyard gateway restore demo --version abc",
            "switchyard gateway restore --version",
            "switchyard serve --version",
        ] {
            assert_eq!(code(line), Some(2), "{line}");
        }
    }

    #[test]
    fn a_change_that_awaits_approval_has_an_exit_code_of_its_own() {
        let name = "acme".to_owned();
        let waits = anyhow::Error::new(gateways::AwaitsApproval { name });
        assert_eq!(code_of(&waits), 3);
        assert_eq!(code_of(&anyhow::anyhow!("no")), 1);
    }

    #[test]
    fn no_argument_of_a_command_takes_the_name_of_a_global_one() {
        fn check(command: &clap::Command, globals: &[&str]) {
            for argument in command
                .get_arguments()
                .filter(|argument| !argument.is_global_set())
            {
                assert!(
                    !globals.contains(&argument.get_id().as_str()),
                    "{} of {}",
                    argument.get_id(),
                    command.get_name()
                );
            }
            command
                .get_subcommands()
                .for_each(|inner| check(inner, globals));
        }
        let line = Cli::command();
        let globals: Vec<&str> = line
            .get_arguments()
            .filter(|argument| argument.is_global_set())
            .map(|argument| argument.get_id().as_str())
            .collect();
        assert!(globals.contains(&"url") && globals.contains(&"token"));
        check(&line, &globals);
    }

    #[test]
    fn no_argument_of_the_account_commands_is_a_token() {
        let line = Cli::command();
        let account = line.find_subcommand("account").unwrap();
        let mut open = vec![account];
        while let Some(command) = open.pop() {
            let arguments = command.get_arguments().filter_map(|one| one.get_long());
            let secret = arguments.filter(|name| ["token", "password"].contains(name));
            assert_eq!(secret.count(), 0, "{}", command.get_name());
            open.extend(command.get_subcommands());
        }
    }

    #[test]
    fn commands_of_an_account_read_as_people_write_them() {
        for line in [
            "switchyard account me --token-file token",
            "switchyard account sign-in awa@example.com --password-file - --with-code",
            "switchyard account profile --name Awa --language fr",
            "switchyard account password",
            "switchyard account second-factor confirm",
            "switchyard account transactions export --status success --columns id,amount",
            "switchyard account tokens create ci --actions view_payments,manage_keys --days 90",
            "switchyard account --app app_01k00000000000000000000000 keys list --environment live",
            "switchyard account keys roll key_x --now",
            "switchyard account transactions search awa@example.com --kind payout",
            "switchyard account payouts create order.json --idempotency-key 1",
            "switchyard account payouts upload may.csv",
            "switchyard account payouts confirm bat_x",
            "switchyard account payment-links create Tickets --currency XOF --amount 5000",
            "switchyard account payment-links create --file link.json",
            "switchyard account payment-links list --limit 50",
            "switchyard account approvals reject apr_x --reason late",
            "switchyard account webhooks create https://shop.example/h --events payment.success",
            "switchyard account webhooks resend-missing whk_x --since 2026-11-20",
            "switchyard account team invite awa@example.com --name Awa --role viewer",
            "switchyard account audit --action manage_keys",
        ] {
            assert!(Cli::try_parse_from(line.split(' ')).is_ok(), "{line}");
        }
    }

    #[test]
    fn commands_read_as_people_write_them() {
        for line in [
            "switchyard serve --config switchyard.toml",
            "switchyard serve --held --accept-loss",
            "switchyard serve --development --data d --gateways g --port 8080 --rate-limit 0",
            "switchyard completions bash",
            "switchyard man-pages target/man",
            "switchyard init --yes --public-url https://pay.example.com --trusted-proxy 10.0.0.1",
            "switchyard config check --config switchyard.toml --json",
            "switchyard doctor --config switchyard.toml --time-source https://time.example",
            "switchyard reseal --config switchyard.toml --new-key new.key",
            "switchyard store check --config switchyard.toml --json",
            "switchyard store backup /backups/monday --data d --speed 0",
            "switchyard store restore /backups/monday --config switchyard.toml",
            "switchyard store shell --backup /backups/monday --json",
            "switchyard apps update --payout-limits {}",
            "switchyard keys create --environment live --kind secret --name server --app app_x",
            "switchyard keys roll key_x --grace 24h",
            "switchyard keys roll key_x --now",
            "switchyard webhooks create https://shop.example/hooks",
            "switchyard connections create --gateway g --environment live --account-name Main --config {}",
            "switchyard gateway new acme --dir work/acme --sdk switchyard-gateway-0.1.0",
            "switchyard gateway check libgateway_acme.so --samples check.json --json",
            "switchyard gateway add a.so --yes --why tested",
            "switchyard gateway upgrade a.so --consent abc --live-hosts a.example,b.example",
            "switchyard gateways list --json",
            "switchyard gateway rollback demo --to abc",
            "switchyard gateway drain demo --wait",
            "switchyard gateway approve demo abcdefabcdef --why read",
            "switchyard gateway reject demo abcdefabcdef",
            "switchyard gateway restore demo --of abc",
            "switchyard routing set --file rules.json --environment live --replaces 3",
            "switchyard routing simulate --method mtn_bj --amount 100 --currency XOF --metadata tier=gold",
            "switchyard routing simulate --from 2026-11-19 --to 2026-11-20 --rules rules.json --environment live",
            "switchyard connections create --gateway g --environment live --account-name A --credential key=k --min XOF=100 --country BJ",
            "switchyard connections update con_x --credential-file key=key.pem --skip-check",
            "switchyard listen --forward-to http://127.0.0.1:3000/hooks --environment sandbox",
            "switchyard webhooks create https://shop.example/hooks --events payment.*,payout.failed --retry 60,600 --per-second 5",
            "switchyard webhooks update whk_x --to https://shop.example/new --retry standard --concurrency 0",
            "switchyard webhooks update whk_x --secret whsec_x",
            "switchyard webhooks show whk_x",
            "switchyard webhooks delivery whk_x whd_x",
            "switchyard webhooks attempts whk_x --full",
            "switchyard webhooks replay whk_x whd_x",
            "switchyard webhooks replay whk_x --missing-since 2026-11-20 \
             --after py_01jd2nq3v4k5m6n7p8q9r0s1t2",
            "switchyard callbacks list con_x --state refused",
            "switchyard callbacks retry con_x cbk_x",
            "switchyard transactions list --status failed --json",
            "switchyard transactions search awa@example.com --kind payout --limit 5",
            "switchyard transactions check po_x",
            "switchyard transactions resolve po_x --outcome succeeded --amount 25.00 --provider-id P9 --note seen",
            "switchyard transactions cancel py_x",
            "switchyard cases list --state closed --reason no_final_answer",
            "switchyard cases show cse_x",
            "switchyard cases close cse_x --note refunded",
            "switchyard release --report",
            "switchyard release --app app_01k00000000000000000000000 --note compared",
            "switchyard --url http://127.0.0.1:1 --token t trigger payment.success",
        ] {
            assert!(Cli::try_parse_from(line.split(' ')).is_ok(), "{line}");
        }
    }
}
