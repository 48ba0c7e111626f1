//! Every limit of the engine, in one place, each with its reason. What an operator may change is a setting instead.

use std::time::Duration;

/// Attempts that are queried because a callback names only a provider id that all of them have. A provider
/// that repeats an id more often gives no useful answer by id anyway.
pub const ATTEMPTS_PER_ID: usize = 20;

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
/// Connections to the HTTP server at once, unless a setting or the limit on open files says less.
/// The next wait in the port's queue; each costs a socket and some 10 KiB.
pub const CONNECTIONS: usize = 10_000;
/// Connections to the listener of operators, balancers and Prometheus: some `listen` commands and
/// dashboards at once.
pub const ADMIN_CONNECTIONS: usize = 256;
/// Open files that connections leave for all else: webhooks may keep 2,300 sockets open, then come
/// the store's segments, providers, mails and [`ADMIN_CONNECTIONS`]. Where the system allows fewer
/// than twice as many, it is half of them.
pub const FILES_RESERVED: u64 = 4_096;
/// Connections for each event stream of a checkout page, at least: streams stay open, and requests
/// must still get through.
pub const CONNECTIONS_PER_STREAM: usize = 4;
/// How long a connection may be silent before its next request has come in whole (its head). Long enough for a client that keeps its
/// connection between two payments, short enough that a client that drips bytes holds no place.
pub const CONNECTION_SILENCE: Duration = Duration::from_secs(60);
/// Bytes of the head of a request to the HTTP server: a browser sends 1 to 4 KiB, cookies of other
/// services on the same host some more. An unfinished head holds them for [`CONNECTION_SILENCE`].
/// The server reads in steps, so up to twice as many can arrive.
pub const REQUEST_HEAD_BYTES: usize = 32 * 1024;
/// Messages that may wait for one transaction; the sender of the next waits until there is room. A person and a provider send a handful;
/// a thousand is an attack, and it waits in its own connections.
pub const TRANSACTION_MAILBOX: usize = 32;
/// Transaction actors in memory at once, a gibibyte of them. Those at work rest within a minute; until then whoever asks for another is
/// told to come back (503), and what the engine itself wants is tried again.
pub const LIVE_ACTORS: usize = 400_000;
/// Messages that may wait for the scheduler: nobody but an operator who looks at it sends any, it works by the clock.
pub const SCHEDULER_MAILBOX: usize = 16;
/// Transactions that the scheduler wakes at the same time. The next timer waits for one of them.
pub const SCHEDULER_WAKES: usize = 256;
/// Requests in 60 s for the checkout pages of one payment when their client address is over its limit.
/// A page that polls asks 12 to 20 times a minute; the rest is for its parts and for the payer.
pub const CHECKOUT_REQUESTS: u32 = 60;
/// Requests for such pages from one client address, in multiples of its limit: 200 payers at once,
/// with the 1,200 of the default.
pub const CHECKOUT_SHARE: u32 = 10;
/// Tokens from which an operator token may descend, each named in its row. People hand on a token once
/// or twice; more is a program that multiplies them.
pub const TOKEN_ANCESTORS: usize = 8;
/// Webhooks of one app (specification 2.9).
pub const WEBHOOKS_PER_APP: usize = 15;
/// Valid keys of one app: four kinds, a few servers, and those whose grace period runs. All are in memory.
pub const KEYS_PER_APP: usize = 50;
/// How long a rolled key may stay valid: long enough for a release cycle, short enough that it ends.
pub const KEY_GRACE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Bytes of an app's logo. It is loaded with the first checkout page, on lines of 400 kbit/s: 20 KiB are 0.4 s.
pub const LOGO_BYTES: usize = 20 * 1024;
/// Connections of one app, both environments together. A payment looks at all of them.
pub const CONNECTIONS_PER_APP: usize = 100;
/// Bytes of a connection's configuration as JSON: a few credentials, a certificate or two.
pub const CONNECTION_CONFIG_BYTES: usize = 64 * 1024;
/// Bytes of a gateway's library. A debug build of a large one has 50 MB; what is larger is something else.
pub const GATEWAY_FILE_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes of it that are read, hashed, or written and flushed at once while payments flow: a processor has them in a fifth of a
/// millisecond, and a disk in about as long as one flush takes anyway.
pub const GATEWAY_FILE_PIECE_BYTES: usize = 256 * 1024;
/// How long such work rests after each piece, at least: a library of 8 MB takes some 20 ms more for it, each time that it is read.
pub const GATEWAY_FILE_REST: Duration = Duration::from_micros(500);
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
/// How long one step may take before its worker is ended, or compute in process before its version is put into quarantine: twenty times
/// what is already reported as slow.
pub const GATEWAY_STEP: Duration = Duration::from_secs(1);
/// How long a step in process may take by the clock on the wall, however little it computed: a busy machine seldom explains more. One that
/// has not come back by then is given up.
pub const GATEWAY_STEP_WAITED: Duration = Duration::from_millis(2_500);
/// How often is looked for steps in process that do not come back: the last is then missed by a tenth of a second.
pub const GATEWAY_WATCH: Duration = Duration::from_millis(100);
/// Steps of one version at the same time on threads beside the runtime's: as many as in a worker, and when one of them is given up, two
/// for asking about what was begun, twice. Each that does not come back costs a processor until the server is started again.
pub const GATEWAY_LANES: [usize; 3] = [8, 2, 2];
/// How long a worker may take to start and to load its library, on a machine that is busy with something else.
pub const GATEWAY_WORKER_START: Duration = Duration::from_secs(15);
/// Deaths of a version's workers within a minute that put it into quarantine.
pub const GATEWAY_WORKER_DEATHS_A_MINUTE: usize = 3;
/// Pause before a payout is given again to a version whose worker died during one of its attempts.
/// It is longer than the minute in which deaths lead to a quarantine.
pub const PAYOUT_PAUSE_AFTER_A_DEATH: Duration = Duration::from_secs(90);
/// CPU time that a worker may use while none of its steps is open, before it is ended.
pub const GATEWAY_STRAY_CPU: Duration = Duration::from_secs(1);
/// The part of a processor, one in so many, that does not count against it: a worker reads and
/// writes between its steps.
pub const GATEWAY_STRAY_CPU_SHARE: u32 = 10;
/// Deaths of the engine in code of one version within [`GATEWAY_ENGINE_DEATHS_PERIOD`] that put the
/// version into quarantine.
pub const GATEWAY_ENGINE_DEATHS: usize = 3;
pub const GATEWAY_ENGINE_DEATHS_PERIOD: Duration = Duration::from_secs(24 * 60 * 60);
/// A worker that no call has needed for so long is stopped: the next call pays some tens of milliseconds, a provider takes more.
pub const GATEWAY_WORKER_IDLE: Duration = Duration::from_secs(5 * 60);
/// The same for a version on which no new attempts begin: of an installation that upgrades often only one worker a gateway is left.
pub const GATEWAY_WORKER_IDLE_PAST: Duration = Duration::from_secs(5);
/// Steps that one worker takes at the same time. They only compute: more than the machine has cores is for those that are slow.
pub const GATEWAY_WORKER_THREADS: usize = 8;
/// How long a list of options that a gateway answered is used without fetching it again.
pub const OPTIONS_FRESH: Duration = Duration::from_secs(60 * 60);
/// How long it is used while it cannot be fetched again. A bank that left the list is refused by
/// the provider.
pub const OPTIONS_USABLE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How long after a failed fetch the next one begins, at least.
pub const OPTIONS_RETRY: Duration = Duration::from_secs(30);
/// How long a page waits for a list when there is none yet.
pub const OPTIONS_WAIT: Duration = Duration::from_secs(2);
/// Lists that are kept.
pub const OPTIONS_LISTS: usize = 1_000;
/// Bytes of one frame between the engine and a worker: a configuration, a provider's longest answer with all of it escaped, twice over.
pub const GATEWAY_FRAME_BYTES: usize = 16 * 1024 * 1024;
/// Bytes that may wait for a worker that does not read. Beyond it calls are refused, and the worker is about to be ended anyway.
pub const GATEWAY_WORKER_QUEUE_BYTES: usize = 64 * 1024 * 1024;
/// Calls whose secrets are looked for in what a worker prints: more than are under way at once, and some that have just ended.
pub const GATEWAY_WORKER_REDACTORS: usize = 4_096;
/// Panics within a minute that put a version into quarantine: one may be bad luck with an answer, this many are a bad gateway.
pub const GATEWAY_PANICS_A_MINUTE: usize = 5;
/// How often the folder of gateways is looked at. A file is taken when it is the same at two looks, so that a copy under way is not.
pub const GATEWAY_FOLDER_LOOK: Duration = Duration::from_secs(2);
/// Files of the folder that are looked at. More than this is another folder.
pub const GATEWAY_FOLDER_FILES: usize = 200;
/// Versions of one gateway that its record names, and changes that it tells of; the oldest go first. Their copies stay, and a row for
/// each says what was granted to it and what holds it back.
pub const GATEWAY_VERSIONS: usize = 200;
pub const GATEWAY_CHANGES: usize = 200;
/// Open attempts of one version that are counted. Beyond it the answer is "at least".
pub const GATEWAY_OPEN_ATTEMPTS: usize = 10_000;
/// Characters that an operator may give as the reason of a change.
pub const GATEWAY_REASON_CHARACTERS: usize = 500;
/// How soon, and how late, a gateway may have its attempt asked about again. Sooner is a loop at the provider's expense; later, and
/// a payer who has paid waits for a mistaken number.
pub const GATEWAY_POLL_SOONEST: Duration = Duration::from_secs(5);
pub const GATEWAY_POLL_LATEST: Duration = Duration::from_secs(60 * 60);
/// Entries of all gateways' caches together, and bytes of one: access tokens, a few for each connection.
pub const GATEWAY_CACHE_ENTRIES: usize = 10_000;
pub const GATEWAY_CACHE_VALUE_BYTES: usize = 16 * 1024;
/// Bytes of the name of a series of numbers: a fingerprint of what the numbers must be unique for.
pub const GATEWAY_SERIES_BYTES: usize = 200;
/// Bytes of a body in the journal. The rest is cut: the timeline is for reading.
pub const JOURNAL_BODY_BYTES: usize = 8 * 1024;
/// Bytes of a text of a gateway (why, message, log line) that are kept.
pub const GATEWAY_TEXT_BYTES: usize = 500;
/// Time for a webhook receiver to answer, connecting included (specification 6.2).
pub const WEBHOOK_DEADLINE: Duration = Duration::from_secs(3);
/// Messages that may wait for the webhook actor: an attempt's end, a look, a sweep. Attempts under way are bounded below it.
pub const WEBHOOK_MAILBOX: usize = 4_096;
/// Bytes of a webhook receiver's answer that the log keeps, of its body and of its headers. Enough to read an error page.
pub const WEBHOOK_RESPONSE_BYTES: usize = 20_000;
/// Messages that may wait for the mail actor: looks, and the ends of the few mails that are on their way.
pub const MAIL_MAILBOX: usize = 64;
/// Deliveries that one call replays at most. The caller asks again.
pub const WEBHOOK_REPLAYS: usize = 1_000;
/// Calls that replay, for one webhook in any minute: a button, and a loop that catches up, but no flood.
pub const WEBHOOK_REPLAY_CALLS: usize = 30;
/// Transactions that one call looks at for events that a webhook missed. Seconds, not minutes.
pub const WEBHOOK_MISSING_LOOKS: usize = 10_000;
/// Pauses of a webhook's own retry schedule, and how long each may be. Three weeks in all: a receiver that is down longer is gone.
pub const WEBHOOK_DELAYS: usize = 20;
pub const WEBHOOK_DELAY_MOST: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a receiver's `Retry-After` may put a delivery off: a day, whatever it asks for.
pub const WEBHOOK_RETRY_AFTER_MOST: Duration = Duration::from_secs(24 * 60 * 60);
/// What a webhook's own rate limit may be: more in one second than one receiver gets from us anyway says nothing.
pub const WEBHOOK_PER_SECOND_MOST: u32 = 1_000;
/// What a webhook's own number of requests at a time may be: a quarter of the room that all quick receivers share.
pub const WEBHOOK_CONCURRENCY_MOST: u16 = 64;
/// Rates of exchange, by all sources together: every pair of a feed of 170 currencies and a generous table.
pub const RATES: usize = 2_000;
/// How far, in percent, a fetched rate may be from the one that a peg implies. Feeds quote pegged currencies from trades, which are
/// within one percent of the treaty's rate; a devaluation is tens of percent.
pub const PEG_TOLERANCE_PERCENT: u32 = 2;
/// Bytes of a feed's answer, and how long it may take. 170 currencies take 5 kB.
pub const RATE_FEED_BYTES: usize = 1024 * 1024;
pub const RATE_FEED_DEADLINE: Duration = Duration::from_secs(20);
/// Rows of limits that one sweep deletes in one commit.
pub const QUOTA_SWEEP: usize = 500;
/// Subjects of limits whose counts are in memory: some 150 bytes each. Beyond it they are read from the store again.
pub const QUOTA_SUBJECTS: usize = 100_000;
/// How long verify waits for a provider before it answers what is stored (decisions 3).
pub const VERIFY_DEADLINE: Duration = Duration::from_secs(5);
/// How old the last query must be before verify asks the provider again (decisions 3).
pub const VERIFY_QUERY_AGE: Duration = Duration::from_secs(10);
/// How old the last query must be before an operator's check asks again: a finger that presses twice asks once.
pub const CHECK_QUERY_AGE: Duration = Duration::from_secs(2);
/// Codes that a payer may type for one attempt. Providers allow three to five; a guesser would need thousands.
pub const CODES_PER_ATTEMPT: u32 = 5;
/// Characters of a code that a payer types. Providers send four to eight; some send words.
pub const CODE_CHARACTERS: usize = 64;
/// Attempts of one payment, those that reached nobody included. A payer presses a handful of times; the row grows with each.
pub const ATTEMPTS_PER_PAYMENT: usize = 50;
/// Attempts of one transaction at one connection that are looked for after a restore. As many
/// declines were never made of one: a gateway that reports more declines whatever it is asked for.
pub const LOST_ATTEMPTS: usize = 10;
/// Characters of an operator's note.
pub const NOTE_CHARACTERS: usize = 1_000;
/// Cases that one request looks at. Cases are rare; a filter that matches none of so many is asked again from there.
pub const CASES_LOOKED_AT: usize = 1_000;
/// Open cases that the metric counts, each time that it is read. Ten thousand need the same help as
/// more.
pub const CASES_COUNTED: usize = 10_000;
/// Metadata of one transaction: keys, characters a key, characters a value (decisions 2).
pub const METADATA_KEYS: usize = 50;
pub const METADATA_KEY_CHARACTERS: usize = 40;
pub const METADATA_VALUE_CHARACTERS: usize = 500;
/// Characters of a description (decisions 2).
pub const DESCRIPTION_CHARACTERS: usize = 255;
/// How long one payment may wait for its payer when its request says so (decisions 2): shorter, and
/// payers who look for their phone come too late; longer than sandbox data is kept, and the order is
/// forgotten.
pub const PAYMENT_EXPIRES_SOONEST: Duration = Duration::from_secs(300);
pub const PAYMENT_EXPIRES_LATEST: Duration = Duration::from_secs(90 * 24 * 60 * 60);
/// The largest amount, in major units, of any currency (decisions 2).
pub const AMOUNT_MAJOR: i64 = 1_000_000_000_000;
/// Bytes of a request body (decisions 2).
pub const BODY_BYTES: usize = 64 * 1024;
/// Limit of all addresses of one /48 network of IPv6 together, as a multiple of the limit of one
/// address. A mobile network has hundreds of payers in a /48; an attacker has 65,536 /64 networks.
pub const SITE_SHARE: u32 = 16;
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
/// Routing rules of one app and environment, and rows of its table of fees. Each payment looks at the rules one by one.
pub const ROUTING_RULES: usize = 100;
pub const ROUTING_FEES: usize = 500;
/// Versions of an app's rules that are kept: enough to go back to last month's.
pub const ROUTING_VERSIONS: usize = 20;
/// Connections that a stored decision tells of. The first few are tried; the rest would only make every transaction's row longer.
pub const ROUTING_CONSIDERED: usize = 8;
/// Stored transactions that one simulation of routing reads. A day of a large shop, and a second of work.
pub const ROUTING_SIMULATED: usize = 5_000;
/// Connections, each with a method, whose health is remembered: some hundreds of bytes each.
pub const ROUTING_HEALTH: usize = 20_000;
/// Bytes of a provider's callback: its body, and its path and headers together. The largest that providers send have a few thousand.
pub const CALLBACK_BODY_BYTES: usize = 64 * 1024;
pub const CALLBACK_HEAD_BYTES: usize = 16 * 1024;
/// Callbacks of one connection, a second in the long run and at once. A hundred payments a second have two each, and a provider sends
/// in one go what it held back; beyond that somebody is filling the disk, and a provider that is told 429 sends again.
pub const CALLBACKS_A_SECOND: u32 = 500;
pub const CALLBACKS_AT_ONCE: u32 = 2_000;
/// Bytes of one connection's callbacks that may wait to be dealt with: tens of thousands of ordinary ones.
pub const CALLBACKS_WAITING_BYTES: u64 = 64 * 1024 * 1024;
/// Bytes that a stored callback takes besides those of its request, counted with them.
pub const CALLBACK_ROW_BYTES: usize = 1024;
/// Callbacks of one connection that are given to its gateway at the same time, so that a slow one holds up only itself.
pub const CALLBACKS_UNDER_WAY: usize = 8;
/// Callbacks that wait in memory for the end of our own call about their attempt. What goes beyond is read once more after that call
/// must have ended.
pub const CALLBACKS_AFTER_OUR_CALL: usize = 10_000;
/// Attempts that have ended of which is remembered when their provider was asked about them once more; beyond that all are forgotten, which
/// costs a query each.
pub const CALLBACKS_HEARD: usize = 10_000;
/// Callbacks of one connection that are kept although they belong to nothing, that were refused, and that meant nothing. The oldest go
/// first; they are counted for ever, and whatever a lost one said is learnt from the next query.
pub const CALLBACKS_UNMATCHED: usize = 2_000;
pub const CALLBACKS_REFUSED: usize = 1_000;
/// Callbacks about one transaction that are kept, and that may make the engine ask its provider. A provider sends a handful.
pub const CALLBACKS_PER_TRANSACTION: usize = 100;
/// How often a gateway is given a callback that it stumbled over, and how long one whose gateway is not loaded waits for it.
pub const CALLBACK_TRIES: u32 = 4;
pub const CALLBACK_PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a callback waits for the transaction that it is about. By then the query schedule has come to a person anyway.
pub const CALLBACK_AWAITS: Duration = Duration::from_secs(3 * 24 * 60 * 60);
/// How old the last query must be before a hint has the provider asked again: below what a payer notices, above what a provider minds.
pub const CALLBACK_HINT_AGE: Duration = Duration::from_secs(2);
/// How long callbacks are kept: those about a transaction outlive the time in which a payer can dispute it; the others are for finding a
/// mistake in the set-up.
pub const CALLBACK_RETENTION: Duration = Duration::from_secs(180 * 24 * 60 * 60);
pub const CALLBACK_LOOSE_RETENTION: Duration = Duration::from_secs(30 * 24 * 60 * 60);
