//! Every limit of the engine, in one place, each with its reason. What an operator may change is a setting instead.

use std::time::Duration;

/// Commits that may wait for the store's writer. Beyond it the caller waits: back-pressure, not memory.
pub const STORE_QUEUE: usize = 8_192;
/// Commits written with one flush. More would delay the first of them for the last.
pub const STORE_BATCH: usize = 1_024;
/// Bytes of a key in the store. Keys are identifiers and short texts; engines stop at 65,535.
pub const STORE_KEY_BYTES: usize = 4_096;
/// Bytes of a value in the store: the largest body that is kept, several times over.
pub const STORE_VALUE_BYTES: usize = 16 * 1024 * 1024;
/// Rows that a scan reads on its caller's thread. A longer scan would hold up that thread's other work.
pub const STORE_SCAN_INLINE: usize = 256;
/// Messages that may wait for one transaction. A person and a provider send a handful; a thousand is an attack.
pub const TRANSACTION_MAILBOX: usize = 32;
/// Webhooks of one app (specification 2.9).
pub const WEBHOOKS_PER_APP: usize = 15;
/// Valid keys of one app: four kinds, a few servers, and those whose grace period runs. All are in memory.
pub const KEYS_PER_APP: usize = 50;
/// How long a rolled key may stay valid: long enough for a release cycle, short enough that it ends.
pub const KEY_GRACE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Connections of one app, both environments together. A payment looks at all of them.
pub const CONNECTIONS_PER_APP: usize = 100;
/// Bytes of a connection's configuration as JSON: a few credentials, a certificate or two.
pub const CONNECTION_CONFIG_BYTES: usize = 64 * 1024;
/// Bytes of a gateway's library. A debug build of a large one has 50 MB; what is larger is something else.
pub const GATEWAY_FILE_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes that a gateway may say in one step: a provider's answer, several times over.
pub const GATEWAY_ANSWER_BYTES: usize = 4 * 1024 * 1024;
/// Effects of one call. A token, a recipient, a charge and two looks at it are five; more than this is a loop.
pub const GATEWAY_EFFECTS: usize = 16;
/// How long one call may take, all its effects together. A payer waits behind it.
pub const GATEWAY_CALL: Duration = Duration::from_secs(60);
/// Queries of one connection that run at once. A provider that answers in half a second is asked a hundred times a second; one that
/// hangs holds this many sockets, however many transactions are pending at it.
pub const GATEWAY_QUERIES: usize = 64;
/// How long a provider may take to answer one request, unless the gateway says otherwise.
pub const GATEWAY_REQUEST: Duration = Duration::from_secs(30);
/// How long connecting to a provider may take. Shorter than a request, so that most time-outs prove that nothing was sent.
pub const GATEWAY_CONNECT: Duration = Duration::from_secs(10);
/// Bytes of a provider's answer.
pub const GATEWAY_BODY_BYTES: usize = 1024 * 1024;
/// A gateway computes for microseconds. A step that takes longer than this is reported, and the version's later steps are moved
/// off the runtime's own threads.
pub const GATEWAY_SLOW_STEP: Duration = Duration::from_millis(50);
/// Panics within a minute that suspend a version: one may be bad luck with an answer, this many are a bad gateway.
pub const GATEWAY_PANICS_A_MINUTE: usize = 5;
/// How long a suspension lasts. One bad answer that came many times is over by then, and nobody need be woken to end it; a
/// gateway that still panics costs a handful of calls before it is suspended again.
pub const GATEWAY_SUSPENSION: Duration = Duration::from_secs(60);
/// How soon, and how late, a gateway may have its attempt asked about again. Sooner is a loop at the provider's expense; later, and
/// a payer who has paid waits for a mistaken number.
pub const GATEWAY_POLL_SOONEST: Duration = Duration::from_secs(5);
pub const GATEWAY_POLL_LATEST: Duration = Duration::from_secs(60 * 60);
/// Entries of all gateways' caches together, and bytes of one: access tokens, a few for each connection.
pub const GATEWAY_CACHE_ENTRIES: usize = 10_000;
pub const GATEWAY_CACHE_VALUE_BYTES: usize = 16 * 1024;
/// Bytes of a body in the journal. The rest is cut: the timeline is for reading.
pub const JOURNAL_BODY_BYTES: usize = 8 * 1024;
/// Bytes of a text of a gateway (why, message, log line) that are kept.
pub const GATEWAY_TEXT_BYTES: usize = 500;
/// Time for a webhook receiver to answer, connecting included (specification 6.2).
pub const WEBHOOK_DEADLINE: Duration = Duration::from_secs(3);
/// Messages that may wait for the webhook actor: an attempt's end, a look, a sweep. Attempts under way are bounded below it.
pub const WEBHOOK_MAILBOX: usize = 1_024;
/// Bytes of a webhook receiver's answer that the log keeps, of its body and of its headers. Enough to read an error page.
pub const WEBHOOK_RESPONSE_BYTES: usize = 20_000;
/// Messages that may wait for the mail actor: looks, and the ends of the few mails that are on their way.
pub const MAIL_MAILBOX: usize = 64;
/// Deliveries that one call replays at most. The caller asks again.
pub const WEBHOOK_REPLAYS: usize = 1_000;
/// How long verify waits for a provider before it answers what is stored (decisions 3).
pub const VERIFY_DEADLINE: Duration = Duration::from_secs(5);
/// How old the last query must be before verify asks the provider again (decisions 3).
pub const VERIFY_QUERY_AGE: Duration = Duration::from_secs(10);
/// Metadata of one transaction: keys, characters a key, characters a value (decisions 2).
pub const METADATA_KEYS: usize = 50;
pub const METADATA_KEY_CHARACTERS: usize = 40;
pub const METADATA_VALUE_CHARACTERS: usize = 500;
/// Characters of a description (decisions 2).
pub const DESCRIPTION_CHARACTERS: usize = 255;
/// The largest amount, in major units, of any currency (decisions 2).
pub const AMOUNT_MAJOR: i64 = 1_000_000_000_000;
/// Bytes of a request body (decisions 2).
pub const BODY_BYTES: usize = 64 * 1024;
/// How long sandbox transactions and customers are kept (specification 8).
pub const SANDBOX_RETENTION: Duration = Duration::from_secs(90 * 24 * 60 * 60);
/// How long the answer to a request with an idempotency key is kept (decisions 3).
pub const IDEMPOTENCY_LIVE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
pub const IDEMPOTENCY_SANDBOX: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a request waits for its twin that is being carried out (decisions 3).
pub const IDEMPOTENCY_WAIT: Duration = Duration::from_secs(2);
/// Bytes of an idempotency key: a UUID has 36, and some clients send a hash with a prefix.
pub const IDEMPOTENCY_KEY_BYTES: usize = 255;
/// Expired answers that one scan reads.
pub const IDEMPOTENCY_SWEEP: usize = 500;
