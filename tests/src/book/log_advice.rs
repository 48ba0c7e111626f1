//! Advice about each warning and error of the log, by the name of the event.

const STORE: &str = "Run `switchyard doctor`; `switchyard store check` examines every row. A \
                     damaged store is restored from a backup";
const RETRIED: &str = "Committed changes are kept; background work is repeated, and a refused \
                       request can be sent again. When it goes on, run `switchyard doctor`";
const GATEWAY: &str = "Look at `switchyard gateway list`; roll the gateway back or replace it, and \
                       report it to its author";
const HELD: &str = "Follow [the restore](../restore.md): read `switchyard release --report`";
const PANIC: &str = "A defect of the engine: report it with the lines before it. The stored state \
                     is whole";
const COPY: &str = "Examine the folder of `store.copy_to`: space, rights, mount";
const CLOCK: &str = "Repair the machine's time service, then restart";

/// Advice, and the events that it is about: each warning and error once.
pub const ADVICE: &[(&str, &[&str])] = &[
    (
        STORE,
        &[
            "a damaged row is left out of the report of a hold",
            "a row is damaged",
            "cases are missing from a list, they cannot be read",
            "count would fall below zero, the store is damaged",
            "failed to check the store",
            "failed to read a stored response, request refused",
            "pages of the log could not be moved",
            "rewriting damaged marker of the store",
            "skipped a row with an unreadable key",
            "skipped an unreadable row",
            "skipped an unreadable timer",
            "store damage known since an earlier run",
            "store damage not recorded",
            "store damaged",
            "stored gateway state of an attempt is damaged",
        ],
    ),
    (
        RETRIED,
        &[
            "failed to ask about payments of before the restore",
            "failed to begin a payment of a link",
            "failed to change a gateway",
            "failed to change a logo in the console",
            "failed to change an app in the console",
            "failed to change exchange rates",
            "failed to count open cases",
            "failed to delete expired counts of limits",
            "failed to disable a webhook after 410 Gone",
            "failed to dispatch a payout at once, its timer retries",
            "failed to empty the queue of a disabled webhook",
            "failed to journal a provider response",
            "failed to journal read-only exchanges",
            "failed to mark an acknowledged webhook as delivered",
            "failed to order a batch, retrying",
            "failed to mark the break of the audit log",
            "failed to process a callback",
            "failed to purge callbacks, retrying in an hour",
            "failed to read the batches of payouts",
            "failed to purge expired sessions, retrying in an hour",
            "failed to purge idempotency keys, retrying in an hour",
            "failed to purge mail logs, retrying in an hour",
            "failed to purge sandbox data, retrying in an hour",
            "failed to purge webhook logs, retrying in an hour",
            "failed to queue parked callbacks",
            "failed to read the callbacks queued before the start",
            "failed to read the delivery log",
            "failed to read the delivery log for the console",
            "failed to read transactions for a replay",
            "failed to read transactions for an export",
            "failed to record a delivery",
            "failed to record a mail",
            "failed to record the quarantine",
            "failed to resend deliveries from the console",
            "failed to scan a queue",
            "failed to scan dead-lettered callbacks",
            "failed to show a payment link",
            "failed to store a callback",
            "failed to store a change of access data",
            "failed to store a change of users",
            "failed to store a gateway outcome, retrying",
            "failed to store the health of a gateway",
            "failed to sweep the queues",
            "failed to wake a transaction, retrying",
            "failed to write in the background",
            "store unavailable",
        ],
    ),
    (
        GATEWAY,
        &[
            "failed to adopt a pinned upgrade",
            "failed to inspect an uploaded gateway again",
            "failed to load an earlier gateway version",
            "gateway log line",
            "gateway outcome rejected",
            "gateway put into quarantine",
            "gateway reported an implausible outcome",
            "gateway skipped",
            "gateway failed to read a callback",
            "gateway verified an outcome in a callback without naming its attempt",
            "gateway worker ended unexpectedly",
            "gateway worker output",
            "gateway worker output suppressed",
            "the worker of a gateway cannot start",
        ],
    ),
    (
        HELD,
        &[
            "store is held, no payout is sent and no payment attempt starts",
            "the continuous copy cannot be read to its end, the store is held",
            "the loss is accepted, the log is set aside",
            "the loss is accepted, the store is opened",
            "the store has no readable mark and may be an older copy, it is held",
            "the store is older than its continuous copy, it is held",
        ],
    ),
    (
        PANIC,
        &[
            "command panicked, the transaction keeps its stored state",
            "engine failed",
            "execution of a queued row panicked",
            "failed to read resources of process",
            "failed to start the queues of callbacks",
            "failed to stop the actor threads",
            "gateway call panicked",
            "housekeeping task panicked",
            "operator request failed",
            "queue actor panicked, the next scan repeats its work",
        ],
    ),
    (
        COPY,
        &[
            "a generation could not be marked as kept",
            "a generation of the continuous copy cannot be read",
            "a generation of the continuous copy is kept, it may hold other commits",
            "a generation of the continuous copy is of a later store",
            "failed to copy the store continuously",
            "the continuous copy lacks the last commits",
            "the store is not compared with its unreadable continuous copy",
        ],
    ),
    (
        CLOCK,
        &[
            "ignored a backup of a future time",
            "the machine's clock is behind the last commit of the store",
            "the machine's clock was set since the start",
        ],
    ),
    (
        "Add the gateway's file again, then back up again",
        &["a gateway was left out of a backup"],
    ),
    (
        "End the programs that hold the database open",
        &["a reader of the database keeps its log from being restarted"],
    ),
    (
        "Disable or delete the connection: it moves no money",
        &["a test gateway serves live"],
    ),
    (
        "The service manager restarts the server. Look at CPU and disk",
        &["actor does not answer, sign of life withheld"],
    ),
    (
        "Somebody or a fault changed it: keep a copy, compare it with a backup",
        &["audit log is broken"],
    ),
    (
        "Contact the provider; other connections are preferred until it recovers",
        &["breaker opened"],
    ),
    (
        "Restart when it suits",
        &["changed settings need a restart"],
    ),
    (
        "Look at disk and CPU; the payment continues",
        &["checkout page timed out"],
    ),
    (
        "Raise the named setting if the client is legitimate",
        &["connection refused, address has too many open"],
    ),
    (
        "Use an empty data folder for the demonstration",
        &["demo data not made, the data folder has a store already"],
    ),
    (
        "Look at the limit on open files",
        &["failed to accept a connection"],
    ),
    (
        "Examine the folder of `store.backup_to`: space, rights, mount",
        &["failed to back up the store"],
    ),
    (
        "The master key is not the one of the store: restore the right one",
        &["failed to decrypt a webhook secret"],
    ),
    (
        "Delete the file that `path` names",
        &[
            "failed to delete a partial file",
            "failed to delete an upload",
        ],
    ),
    (
        "Forbid core dumps in the unit: they may contain secrets",
        &["failed to disable core dumps, which may contain secrets"],
    ),
    (
        "Examine the feed of the rates; they are used until too old",
        &["failed to fetch exchange rates, using the last ones"],
    ),
    (
        "Examine the connection and its provider; a fault of the gateway: tell its author",
        &["failed to fetch options"],
    ),
    (
        "Examine the folder of `store.backup_to`: rights, mount",
        &["failed to list backups"],
    ),
    (
        "Examine the connection; until its list is there, the report of the hold lacks it",
        &["failed to list transactions of the lost span"],
    ),
    (
        "Examine `NotifyAccess` of the unit",
        &["failed to notify service manager"],
    ),
    (
        "The user gets no mail: send the link again",
        &["failed to queue a mail to a user"],
    ),
    (
        "Raise the limit on open files of the unit",
        &["failed to raise the limit on open files"],
    ),
    (
        "Examine rights and mount of `gateways.dir`",
        &["failed to read the gateway folder"],
    ),
    (
        "Correct the settings that `error` names; the old ones stay in use",
        &["failed to reload settings"],
    ),
    (
        "Delete the draft in the folder of the backups",
        &["failed to remove the draft of a backup"],
    ),
    (
        "A defect of the engine: report it",
        &[
            "failed to render a checkout page",
            "failed to render a page of the console",
            "failed to render a template of the console",
        ],
    ),
    ("Examine the path of `log.file`", &["failed to reopen log"]),
    (
        "Examine `mail.smtp_url`; mails are sent again for a while",
        &["failed to send mail"],
    ),
    (
        "Examine the collector of `telemetry.otlp_url`",
        &["failed to send traces, they are dropped until the collector takes them"],
    ),
    (
        "Free space on the disk of the data folder",
        &["free disk space fell below reserve, refusing new payments and payouts"],
    ),
    (
        "Look at `switchyard gateway list`, then approve or delete the file",
        &[
            "gateway file awaits approval",
            "gateway file awaits consent",
        ],
    ),
    (
        "Use a kernel with the named restrictions",
        &["gateway sandbox incomplete"],
    ),
    (
        "Look at `switchyard rates held`, then accept or discard them",
        &["implausible exchange rates held"],
    ),
    (
        "Look at `switchyard rates held` and at the feed; the last accepted rates are used until \
         too old",
        &["values of the exchange rate feed are no rates"],
    ),
    (
        "Run `switchyard doctor`; compare the settings `[openid]` with those of the provider",
        &[
            "failed to reach the identity provider",
            "identity provider sent an unusable answer",
        ],
    ),
    (
        "A user began to sign in under another host name, or a link of a sign-in was passed on: \
         look for abuse if it repeats",
        &["sign-in by the identity provider returned in another browser"],
    ),
    (
        "Expected at the first start only: otherwise stop, and mount the data folder",
        &["made a new, empty store"],
    ),
    (
        "Look for abuse of the app's keys",
        &["mails about payments without an attempt are left out for an hour"],
    ),
    (
        "Set `mail.smtp_url`",
        &["mails are disabled, mail.smtp_url is not set"],
    ),
    (
        "Approve a gateway: `switchyard gateway list`",
        &["no gateway is loaded, no payment can be made"],
    ),
    (
        "Revoke unused tokens",
        &["operator tokens outlive the token that created them"],
    ),
    (
        "The lines with the same `request.id` say why",
        &["request failed with a server error"],
    ),
    (
        "The store or the disk does not answer: run `switchyard doctor`",
        &["request refused as unavailable"],
    ),
    (
        "Acknowledged requests are stored; nothing to do",
        &["second signal, process ends at once"],
    ),
    ("Follow `advice`", &["setting is unusual in production"]),
    (
        "Raise `server.shutdown_timeout` if clients need longer",
        &["shutdown timeout reached, closing connections"],
    ),
    (
        "None: the provider is asked before anything is sent again",
        &["submission interrupted"],
    ),
    (
        "Examine rights and space of the data folder",
        &[
            "the mark is not written",
            "the mark was changed while the store was open, it is written again",
        ],
    ),
    (
        "Put the file back that the mark was: without it the next start is refused",
        &["the mark was replaced by that of another store"],
    ),
    (
        "Delete it with `switchyard tokens delete`",
        &["the operator token of development mode is valid"],
    ),
    (
        "Free space on the disk, or replace it; requests are refused",
        &["the store cannot write, retrying until it can"],
    ),
    (
        "None: acknowledged commits are on disk",
        &["the store was not closed in order"],
    ),
    (
        "Tell the merchant: the receiver answered that it is gone",
        &["webhook disabled after 410 Gone"],
    ),
];
