//! Limits of the engine with their reasons. Limits that an operator may change are settings
//! instead.

use std::time::Duration;

/// Attempts that are queried for a callback that names only a provider id shared by all of them.
/// More attempts with one id make an answer by id useless.
pub const ATTEMPTS_PER_ID: usize = 20;
/// Ids of verified reports that an attempt keeps besides its own and those of its charges. Each
/// further one is ignored and counted by a metric.
pub const FURTHER_IDS: usize = 50;
/// Amounts of contradicting reports that a charge keeps, and of replaced ones. Each further one has
/// its case only.
pub const CONTRADICTING_AMOUNTS: usize = 10;

/// Commits queued for the store's writer. Further callers wait: back-pressure instead of memory.
pub const STORE_QUEUE: usize = 8_192;
/// Commits written with one flush. A larger group delays its first commit for its last.
pub const STORE_BATCH: usize = 1_024;
/// Bytes of a key in the store. Keys are identifiers and short texts; backends stop at 65,535.
pub const STORE_KEY_BYTES: usize = 4_096;
/// Bytes of a value in the store: several times the largest request body.
pub const STORE_VALUE_BYTES: usize = 16 * 1024 * 1024;
/// Rows that a scan reads on the caller's thread. Longer scans run on a blocking thread.
pub const STORE_SCAN_INLINE: usize = 256;
/// Open connections of the HTTP server, unless a setting or the limit on open files is lower.
/// Further connections wait in the backlog of the port. Each costs a socket and about 10 KiB.
pub const CONNECTIONS: usize = 10_000;
/// Open connections of the listener for operators, load balancers and Prometheus: some `listen`
/// commands and dashboards.
pub const ADMIN_CONNECTIONS: usize = 256;
/// Open connections of the listener for the console: some hundred people.
pub const CONSOLE_CONNECTIONS: usize = 512;
/// File descriptors reserved for everything but connections: up to 2,300 webhook sockets, the
/// store's files, providers, mails, [`ADMIN_CONNECTIONS`] and [`CONSOLE_CONNECTIONS`]. Half of all
/// descriptors where the system allows fewer than twice as many.
pub const FILES_RESERVED: u64 = 4_096;
/// Minimum number of connections per event stream of a checkout page: streams stay open, and
/// requests need connections, too.
pub const CONNECTIONS_PER_STREAM: usize = 4;
/// Timeout for the complete head of the next request on a connection. It covers a client's pause
/// between two payments; a client that sends single bytes is disconnected.
pub const CONNECTION_IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes of a request head. A browser sends 1 to 4 KiB, plus cookies of other services on the same
/// host. An incomplete head occupies memory for [`CONNECTION_IDLE_TIMEOUT`]. The server reads in
/// steps, so up to twice as many bytes can arrive.
pub const REQUEST_HEAD_BYTES: usize = 32 * 1024;
/// Messages queued for one transaction actor; further senders wait. A payer and a provider send a
/// handful. A flood waits in its own connections.
pub const TRANSACTION_MAILBOX: usize = 32;
/// Transaction actors in memory, about 1 GiB. Idle ones are removed within a minute. Further
/// requests get 503, and the engine retries its own wake-ups.
pub const LIVE_ACTORS: usize = 400_000;
/// Messages queued for the timer actor: the ends of the wake-ups in flight.
pub const SCHEDULER_MAILBOX: usize = SCHEDULER_WAKES;
/// Transactions that the scheduler wakes concurrently. The next timer waits for a free slot.
pub const SCHEDULER_WAKES: usize = 256;
/// Requests per 60 s for the checkout pages of one payment while its client address is over its
/// limit. A page polls 12 to 20 times a minute; the rest is for assets and the payer's requests.
pub const CHECKOUT_REQUESTS: u32 = 60;
/// Limit of checkout pages for one client address, as a multiple of the limit of one address:
/// 200 concurrent payers with the default of 1,200.
pub const CHECKOUT_SHARE: u32 = 10;
/// Ancestors of an operator token, each named in its row. People pass a token on once or twice; a
/// longer chain is made by a program.
pub const TOKEN_ANCESTORS: usize = 8;
/// Webhooks of one app (docs/contract/webhooks.md).
pub const WEBHOOKS_PER_APP: usize = 15;
/// Attempts at a webhook that are read to find those of one delivery: the requests of half an hour
/// to an ordinary receiver, read in some milliseconds.
pub const DELIVERY_ATTEMPTS_EXAMINED: usize = 5_000;
/// Forms of the console whose numbers are remembered, so that none takes effect twice: those of
/// some hours, in 200 KiB.
pub const CONSOLE_SENT_FORMS: usize = 4_096;
/// Valid keys of one app: four kinds, several servers, and keys in their grace period. All of them
/// are in memory.
pub const KEYS_PER_APP: usize = 50;
/// Longest grace period of a rolled key: a release cycle.
pub const KEY_GRACE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Bytes of an app's logo. It is loaded with the first checkout page: 20 KiB take 0.4 s at
/// 400 kbit/s.
pub const LOGO_BYTES: usize = 20 * 1024;
/// Largest width and height of an app's logo, in pixels: two and a half times those on the
/// checkout page, for dense screens.
pub const LOGO_WIDTH: u32 = 320;
pub const LOGO_HEIGHT: u32 = 100;
/// Bytes of a file that becomes a logo: a logo as designers export it has tens of kilobytes.
pub const LOGO_FILE_BYTES: usize = 1024 * 1024;
/// Largest width and height of a picture that becomes a logo, in pixels. Four bytes each take
/// 25 MB.
pub const LOGO_SIDE: u32 = 2_500;
/// Bytes that a decoder may allocate for such a picture: eight for each pixel, and its buffers.
pub const LOGO_MEMORY: u64 = 64 * 1024 * 1024;
/// Connections of one app in both environments. Routing of a payment examines each.
pub const CONNECTIONS_PER_APP: usize = 100;
/// Bytes of a connection's configuration as JSON: some credentials and two certificates.
pub const CONNECTION_CONFIG_BYTES: usize = 64 * 1024;
/// Bytes of a gateway library. A debug build of a large gateway has 50 MB.
pub const GATEWAY_FILE_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes of a gateway library that are read, hashed, or written and flushed in one step while
/// payments are processed: 0.2 ms of a processor, and about one flush of a disk.
pub const GATEWAY_FILE_PIECE_BYTES: usize = 256 * 1024;
/// Minimum pause after each such step. Reading a library of 8 MB takes about 20 ms longer.
pub const GATEWAY_FILE_PAUSE: Duration = Duration::from_micros(500);
/// Bytes of a gateway's result of one step: several times a provider's response.
pub const GATEWAY_ANSWER_BYTES: usize = 4 * 1024 * 1024;
/// Effects of one call. A token, a recipient, a charge and two queries are five; more is a loop.
pub const GATEWAY_EFFECTS: usize = 16;
/// Timeout for one call with all its effects. A payer waits for it.
pub const GATEWAY_CALL: Duration = Duration::from_secs(60);
/// Concurrent queries of one connection: 128 a second at a provider that answers in 0.5 s. A
/// provider that hangs occupies as many sockets, however many transactions are pending there.
pub const GATEWAY_QUERIES: usize = 64;
/// Default timeout for a provider's response to one request.
pub const GATEWAY_REQUEST: Duration = Duration::from_secs(30);
/// Timeout for connecting to a provider. It is shorter than that of a request, so that most
/// timeouts prove that no byte was sent.
pub const GATEWAY_CONNECT: Duration = Duration::from_secs(10);
/// Bytes of a provider's response.
pub const GATEWAY_BODY_BYTES: usize = 1024 * 1024;
/// Timeout for a step, after which its worker is killed. A gateway normally computes for
/// microseconds.
pub const GATEWAY_STEP: Duration = Duration::from_secs(1);
/// Timeout for a worker to start and load its library on a busy machine.
pub const GATEWAY_WORKER_START: Duration = Duration::from_secs(15);
/// Crashes of a version's workers within an hour that quarantine the version, also when the engine
/// restarts in between. Each of them ended open calls, some of which may have moved money. One
/// poison payout causes two at most.
pub const GATEWAY_WORKER_DEATHS_AN_HOUR: usize = 3;
/// Pause before a payout is submitted again through a version whose worker crashed during one of
/// its attempts. A version that crashes in other calls as well is in quarantine by then.
pub const PAYOUT_PAUSE_AFTER_A_DEATH: Duration = Duration::from_secs(90);
/// Processor time that a worker may use without an open step before it is killed.
pub const GATEWAY_STRAY_CPU: Duration = Duration::from_secs(1);
/// Share of a processor, one in so many, that is not counted as stray: a worker reads and writes
/// between its steps.
pub const GATEWAY_STRAY_CPU_SHARE: u32 = 10;
/// Idle time after which a worker is stopped. The next call waits some tens of milliseconds longer,
/// less than for a provider.
pub const GATEWAY_WORKER_IDLE: Duration = Duration::from_secs(5 * 60);
/// Idle time of a worker whose version starts no attempts: frequent upgrades leave one worker per
/// gateway.
pub const GATEWAY_WORKER_IDLE_PAST: Duration = Duration::from_secs(5);
/// Concurrent steps of one worker. Steps only compute; more than the machine's cores is a reserve
/// for slow steps.
pub const GATEWAY_WORKER_THREADS: usize = 8;
/// Age up to which a gateway's list of options is used without fetching it again.
pub const OPTIONS_FRESH: Duration = Duration::from_secs(60 * 60);
/// Age up to which the list is used while it cannot be fetched. A provider refuses a bank that has
/// left the list.
pub const OPTIONS_USABLE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Minimum time between a failed fetch and the next.
pub const OPTIONS_RETRY: Duration = Duration::from_secs(30);
/// Time that a page waits for a list which has not been fetched yet.
pub const OPTIONS_WAIT: Duration = Duration::from_secs(2);
/// Lists of options in memory.
pub const OPTIONS_LISTS: usize = 1_000;
/// Age up to which a provider's list of the lost span is used without fetching it again. An
/// operator reads the report of a hold several times, and transactions at the provider go on.
pub const LIST_FRESH: Duration = Duration::from_secs(5 * 60);
/// Minimum time between a failed fetch of such a list and the next.
pub const LIST_RETRY: Duration = Duration::from_secs(30);
/// Time that the span of a list begins before the backup and ends after the lost span. Clocks of
/// providers differ, and a request may take a while to become a transaction there.
pub const LIST_MARGIN: Duration = Duration::from_secs(15 * 60);
/// Pages of a list, for each connection, span and direction.
pub const LIST_PAGES: usize = 200;
/// Transactions of a list, for each connection, span and direction; the last page may go beyond it.
/// That is 3 MB, and as many as the report of a hold follows one by one.
pub const LIST_TRANSACTIONS: usize = 10_000;
/// Time for all pages of a connection. A provider whose pages take seconds would be asked for an
/// hour.
pub const LIST_TIME: Duration = Duration::from_secs(10 * 60);
/// Connections whose lists are fetched concurrently. The others wait.
pub const LIST_FETCHES: usize = 8;
/// Lists in memory, one for each connection.
pub const LISTS: usize = 1_000;
/// Unknown transactions of a connection that the report of a hold shows one by one.
pub const LISTED_UNKNOWN: usize = 100;
/// Bytes of one frame between the engine and a worker: twice a configuration with a provider's
/// longest response, escaped.
pub const GATEWAY_FRAME_BYTES: usize = 16 * 1024 * 1024;
/// Bytes queued for a worker that does not read. Beyond it calls are refused; such a worker is
/// about to be killed.
pub const GATEWAY_WORKER_QUEUE_BYTES: usize = 64 * 1024 * 1024;
/// Calls whose secrets are redacted in a worker's output: more than all open and recent calls.
pub const GATEWAY_WORKER_REDACTORS: usize = 4_096;
/// Panics within a minute that quarantine a version. A single one may be caused by an unusual
/// response.
pub const GATEWAY_PANICS_A_MINUTE: usize = 5;
/// Poll interval of the gateways' folder. A file is loaded when two polls find it unchanged, so
/// that a copy in progress is not loaded.
pub const GATEWAY_FOLDER_POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Files of the folder that are examined. A folder with more is not a folder of gateways.
pub const GATEWAY_FOLDER_FILES: usize = 200;
/// Versions and changes in the record of one gateway; the oldest are removed. The copies of the
/// versions stay, and a row per version holds its consents and its quarantine.
pub const GATEWAY_VERSIONS: usize = 200;
pub const GATEWAY_CHANGES: usize = 200;
/// Open attempts of one version that are counted. A larger number is reported as "at least".
pub const GATEWAY_OPEN_ATTEMPTS: usize = 10_000;
/// Characters of an operator's reason for a change.
pub const GATEWAY_REASON_CHARACTERS: usize = 500;
/// Shortest and longest time until the next query that a gateway may ask for. A shorter one burdens
/// the provider, and after a longer one a payer who has paid waits because of a wrong number.
pub const MIN_GATEWAY_POLL: Duration = Duration::from_secs(5);
pub const MAX_GATEWAY_POLL: Duration = Duration::from_secs(60 * 60);
/// Entries of all gateway caches together, and bytes of one: some access tokens per connection.
pub const GATEWAY_CACHE_ENTRIES: usize = 10_000;
pub const GATEWAY_CACHE_VALUE_BYTES: usize = 16 * 1024;
/// Bytes of the name of a number series: a fingerprint of the scope in which its numbers are
/// unique.
pub const GATEWAY_SERIES_BYTES: usize = 200;
/// Bytes of a body in the journal. Longer bodies are cut: the timeline is for people.
pub const JOURNAL_BODY_BYTES: usize = 8 * 1024;
/// Bytes of a gateway's text (reason, message, log line) that are stored.
pub const GATEWAY_TEXT_BYTES: usize = 500;
/// Timeout for a webhook receiver's response, connecting included (docs/contract/webhooks.md).
pub const WEBHOOK_DEADLINE: Duration = Duration::from_secs(3);
/// Messages queued for the webhook actor: results of attempts, wake-ups, sweeps. The number of
/// attempts in flight is smaller.
pub const WEBHOOK_MAILBOX: usize = 4_096;
/// Bytes of a webhook receiver's response that the log stores, of its body and of its headers.
/// Enough to read an error page.
pub const WEBHOOK_RESPONSE_BYTES: usize = 20_000;
/// Mails to a merchant within an hour about payments of one app that ended without an attempt.
/// Anybody with a public key can make such payments; a shop with many of them reads the API.
pub const MAILS_WITHOUT_ATTEMPT_AN_HOUR: u32 = 60;
/// Messages queued for the mail actor: wake-ups and results of the few mails in flight.
pub const MAIL_MAILBOX: usize = 64;
/// Deliveries that one request replays. The client repeats the request for more.
pub const WEBHOOK_REPLAYS: usize = 1_000;
/// Replay requests for one webhook per minute: a button, and a loop that catches up.
pub const WEBHOOK_REPLAY_CALLS: usize = 30;
/// Transactions that one request scans for events that a webhook missed: some seconds.
pub const WEBHOOK_MISSING_LOOKS: usize = 10_000;
/// Pauses of a webhook's own retry schedule, and the longest of them: at most three weeks in all.
pub const WEBHOOK_DELAYS: usize = 20;
pub const MAX_WEBHOOK_DELAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Longest delay of a delivery by a receiver's `Retry-After`.
pub const MAX_WEBHOOK_RETRY_AFTER: Duration = Duration::from_secs(24 * 60 * 60);
/// Largest value of a webhook's rate limit. One receiver gets fewer requests per second anyway.
pub const MAX_WEBHOOK_PER_SECOND: u32 = 1_000;
/// Largest value of a webhook's concurrency limit: a quarter of the slots of all fast receivers.
pub const MAX_WEBHOOK_CONCURRENCY: u16 = 64;
/// Exchange rates of all sources: each pair of a feed of 170 currencies and a large table.
pub const RATES: usize = 2_000;
/// Largest difference, in percent, between a fetched rate and that of a peg. Feeds quote pegged
/// currencies within one percent of the treaty's rate; a devaluation is tens of percent.
pub const PEG_TOLERANCE_PERCENT: u32 = 2;
/// Bytes of a rate feed's response, and its timeout. 170 currencies take 5 kB.
pub const RATE_FEED_BYTES: usize = 1024 * 1024;
pub const RATE_FEED_DEADLINE: Duration = Duration::from_secs(20);
/// Rows of quotas that one sweep deletes in one commit.
pub const QUOTA_SWEEP: usize = 500;
/// Subjects of quotas with counts in memory, about 150 bytes each. Further counts are read from the
/// store.
pub const QUOTA_SUBJECTS: usize = 100_000;
/// Time that verify waits for a provider before it returns the stored state
/// (docs/contract/responses.md).
pub const VERIFY_DEADLINE: Duration = Duration::from_secs(5);
/// Minimum age of the last query for verify to query the provider again
/// (docs/contract/responses.md).
pub const VERIFY_QUERY_AGE: Duration = Duration::from_secs(10);
/// Minimum age of the last query for an operator's check to query again: a double click queries
/// once.
pub const CHECK_QUERY_AGE: Duration = Duration::from_secs(2);
/// Codes that a payer may enter for one attempt. Providers allow three to five.
pub const CODES_PER_ATTEMPT: u32 = 5;
/// Characters of a payer's code. Providers send four to eight; some send words.
pub const CODE_CHARACTERS: usize = 64;
/// Attempts of one payment, including those that reached no provider. Each makes the row longer.
pub const ATTEMPTS_PER_PAYMENT: usize = 50;
/// Attempts per transaction and connection that are looked up at the provider after a restore. A
/// gateway that reports as many declines repeats itself.
pub const LOST_ATTEMPTS: usize = 10;
/// Characters of an operator's note.
pub const NOTE_CHARACTERS: usize = 1_000;
/// Cases that one request scans. A filter without a match returns a cursor after so many.
pub const MAX_CASES_SCANNED: usize = 1_000;
/// Open cases that the metric counts at each scrape.
pub const CASES_COUNTED: usize = 10_000;
/// Metadata of one transaction: keys, characters of a key, characters of a value
/// (docs/contract/requests.md).
pub const METADATA_KEYS: usize = 50;
pub const METADATA_KEY_CHARACTERS: usize = 40;
pub const METADATA_VALUE_CHARACTERS: usize = 500;
/// Search terms of one transaction, each with an index row: its amount, e-mail, phone, names and
/// recipient, and then metadata, description and attempts, which have limits of their own. An
/// ordinary payment has about eight.
pub const SEARCH_TERMS: usize = 64;
/// Characters of a text that is a search term: an e-mail has up to 254, and longer texts are read,
/// not searched.
pub const SEARCH_TERM_CHARACTERS: usize = 254;
/// Words of a customer's name, entries of the metadata in order of their keys, and words of the
/// description that contain a digit, that are search terms. Shops put the number of an order there,
/// in one to five entries.
pub const SEARCH_NAME_WORDS: usize = 6;
pub const SEARCH_METADATA: usize = 20;
pub const SEARCH_DESCRIPTION_WORDS: usize = 4;
/// Characters of a text to search for: the longest term. Of a text with more words than this only
/// the whole is searched: each word costs reads of its own.
pub const SEARCH_TEXT_CHARACTERS: usize = SEARCH_TERM_CHARACTERS;
pub const SEARCH_TEXT_WORDS: usize = 6;
/// Reads of the index and transactions read for one page of a search. A page with fewer matches
/// ends there, with the place to continue from. A page of a single term has five reads.
pub const SEARCH_READS: usize = 1_000;
pub const SEARCH_LOADS: usize = 300;
/// Deleted connections of an app whose attempts a search still finds by reference and by provider
/// id, the latest ones.
pub const SEARCH_PAST_CONNECTIONS: usize = 100;
/// Characters of a description (docs/contract/requests.md).
pub const DESCRIPTION_CHARACTERS: usize = 255;
/// Shortest and longest `expires_in` of a payment (docs/contract/requests.md): time to fetch a
/// phone, and the retention of sandbox data.
pub const MIN_PAYMENT_EXPIRES_IN: Duration = Duration::from_secs(300);
pub const MAX_PAYMENT_EXPIRES_IN: Duration = Duration::from_secs(90 * 24 * 60 * 60);
/// Largest number of uses that a payment link can be limited to. The open payments of a limited
/// link are read when it seems to be used up, in some milliseconds for as many.
pub const PAYMENT_LINK_USES: u32 = 10_000;
/// Time for which a payment of a payment link with a limited number of uses may wait for its payer:
/// the time that a person needs to pay. Until its end no other payer gets this use.
pub const PAYMENT_LINK_USE_HELD: Duration = Duration::from_secs(30 * 60);
/// Characters of the title of a payment link: one line on a phone, or two.
pub const PAYMENT_LINK_TITLE: usize = 100;
/// Largest amount in major units, for each currency (docs/contract/requests.md).
pub const AMOUNT_MAJOR: i64 = 1_000_000_000_000;
/// Divisor of an amount that gives its highest plausible fees: one half. More is rather a mistake
/// of the gateway, such as the amount in place of the fee. A fixed fee on a very small amount may
/// be more, too: it is left out, and nothing depends on it.
pub const FEE_DIVISOR: i64 = 2;
/// A success of this many times the requested amount is implausible: the gateway reads the wrong
/// unit, cents for whole units. Nobody is asked to return such a surplus.
pub const SURPLUS_FACTOR: i64 = 100;
/// Bytes of a request body (docs/contract/requests.md).
pub const BODY_BYTES: usize = 64 * 1024;
/// Limit of all addresses of one /48 network of IPv6 together, as a multiple of the limit of one
/// address. A mobile network has hundreds of payers in a /48; an attacker has 65,536 /64 networks.
pub const SITE_SHARE: u32 = 16;
/// Retention of sandbox transactions and customers (docs/contract/limits.md).
pub const SANDBOX_RETENTION: Duration = Duration::from_secs(90 * 24 * 60 * 60);
/// Retention of the response to a request with an idempotency key (docs/contract/responses.md).
pub const IDEMPOTENCY_LIVE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
pub const IDEMPOTENCY_SANDBOX: Duration = Duration::from_secs(24 * 60 * 60);
/// Time that a request waits for another one in flight with the same key
/// (docs/contract/responses.md).
pub const IDEMPOTENCY_WAIT: Duration = Duration::from_secs(2);
/// Bytes of an idempotency key: a UUID has 36, and some clients send a hash with a prefix.
pub const IDEMPOTENCY_KEY_BYTES: usize = 255;
/// Expired responses that one scan reads.
pub const IDEMPOTENCY_SWEEP: usize = 500;
/// Routing rules of one app and environment, and rows of its fee table. Each payment evaluates the
/// rules in order.
pub const ROUTING_RULES: usize = 100;
pub const ROUTING_FEES: usize = 500;
/// Stored versions of an app's rules: enough to roll back to last month's.
pub const ROUTING_VERSIONS: usize = 20;
/// Connections in a stored routing decision. The first few are tried; more make each row longer.
pub const ROUTING_CONSIDERED: usize = 8;
/// Stored transactions that one simulation of routing reads: a day of a large shop, one second of
/// work.
pub const ROUTING_SIMULATED: usize = 5_000;
/// Connections, each with a method, whose health is in memory: some hundreds of bytes each.
pub const ROUTING_HEALTH: usize = 20_000;
/// Bytes of a provider's callback: of its body, and of its path and headers together. The largest
/// of known providers have some thousands.
pub const CALLBACK_BODY_BYTES: usize = 64 * 1024;
pub const CALLBACK_HEAD_BYTES: usize = 16 * 1024;
/// Callbacks of one connection per second, and in one burst. A hundred payments a second have two
/// each, and a provider sends a backlog at once. Beyond it the response is 429, and providers send
/// again.
pub const CALLBACKS_A_SECOND: u32 = 500;
pub const CALLBACKS_AT_ONCE: u32 = 2_000;
/// Bytes of one connection's unprocessed callbacks: tens of thousands of ordinary ones.
pub const CALLBACKS_WAITING_BYTES: u64 = 64 * 1024 * 1024;
/// Bytes of a stored callback besides those of its request, counted with them.
pub const CALLBACK_ROW_BYTES: usize = 1024;
/// Callbacks of one connection in flight at its gateway. A slow connection delays only its own.
pub const CALLBACKS_IN_FLIGHT: usize = 8;
/// Messages queued for the callback actor: wake-ups and results of the callbacks in flight.
pub const CALLBACK_MAILBOX: usize = 4_096;
/// Callbacks in memory that wait for the end of our own call about their attempt. Further ones are
/// read again after the timeout of that call.
pub const CALLBACKS_AFTER_OUR_CALL: usize = 10_000;
/// Ended attempts with a remembered query because of a callback. Beyond it all are forgotten, which
/// costs one query each.
pub const CALLBACKS_REMEMBERED: usize = 10_000;
/// Stored callbacks of one connection that match no transaction, that were refused, or that had no
/// effect. The oldest are removed; the counters remain, and the next query finds the same facts.
pub const CALLBACKS_UNMATCHED: usize = 2_000;
pub const CALLBACKS_REFUSED: usize = 1_000;
/// Stored callbacks of one transaction, and those that may cause a query at once. A provider sends
/// a handful.
pub const CALLBACKS_PER_TRANSACTION: usize = 100;
/// Minimum time between two queries about an ended attempt because of unverified callbacks beyond
/// that number: strangers neither cause a flood of queries nor keep the provider from being heard.
pub const CALLBACK_CROWD_PAUSE: Duration = Duration::from_secs(10);
/// Tries of a callback at a gateway that fails, and the time that a callback waits for a gateway
/// that is not loaded.
pub const CALLBACK_TRIES: u32 = 4;
pub const CALLBACK_RETRY_WINDOW: Duration = Duration::from_secs(24 * 60 * 60);
/// Time that a callback waits for its transaction. By then the queries have led to a case.
pub const CALLBACK_MATCH_WINDOW: Duration = Duration::from_secs(3 * 24 * 60 * 60);
/// Minimum age of the last query for a callback to cause another: shorter than a payer notices,
/// longer than a provider objects to.
pub const CALLBACK_HINT_AGE: Duration = Duration::from_secs(2);
/// Retention of callbacks: of those about a transaction longer than a payer can dispute it, of
/// others long enough to find a mistake in the configuration.
pub const CALLBACK_RETENTION: Duration = Duration::from_secs(180 * 24 * 60 * 60);
pub const CALLBACK_UNMATCHED_RETENTION: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Time after the end of a live batch of payouts for which its lines name their recipients, for
/// corrections of refused lines: as long as callbacks. The payouts keep their recipients.
pub const BATCH_PERSONAL_DATA: Duration = CALLBACK_RETENTION;
/// Characters of a user's password. Longer ones cannot be remembered and cost time to hash.
pub const PASSWORD_MIN_CHARACTERS: usize = 12;
pub const PASSWORD_MAX_CHARACTERS: usize = 128;
/// Password hashes computed concurrently, each with 19 MiB and a processor for 20 ms. Further
/// sign-ins wait.
pub const PASSWORD_HASHES: usize = 4;
/// Time after which an unused session ends, and after which any session ends (ASVS 7.3).
pub const SESSION_IDLE: Duration = Duration::from_secs(30 * 60);
pub const SESSION_LIFETIME: Duration = Duration::from_secs(12 * 60 * 60);
/// Minimum interval between two writes of the time at which a session or a token was last used.
pub const LAST_USED_INTERVAL: Duration = Duration::from_secs(60);
/// Sessions of one user: several browsers on several devices. The oldest is ended.
pub const SESSIONS_PER_USER: usize = 20;
/// Characters of a browser's name in the list of sessions.
pub const USER_AGENT_CHARACTERS: usize = 200;
/// Time after a sign-in with all factors in which sensitive actions need no new one.
pub const RECENT_AUTHENTICATION: Duration = Duration::from_secs(10 * 60);
/// Time from a correct password to the code of the second factor, and to the end of its set-up.
pub const SECOND_FACTOR_WINDOW: Duration = Duration::from_secs(10 * 60);
/// Sign-ins that wait for a second factor. Each needs a correct password; the oldest is dropped.
pub const PENDING_SIGN_INS: usize = 10_000;
/// Time from the start of a sign-in by an OpenID Connect provider to the return from it.
pub const OPENID_WINDOW: Duration = Duration::from_secs(10 * 60);
/// Sign-ins at the provider in memory, in total and of one client address. They need no password,
/// so the oldest of the same address is dropped first; several users may share an address.
pub const OPENID_SIGN_INS: usize = 10_000;
pub const OPENID_SIGN_INS_PER_ADDRESS: usize = 100;
/// Time for all requests to the provider in one step of a sign-in: people wait for it.
pub const OPENID_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of a response of the provider: metadata, keys, tokens. They have 1 to 20 KiB.
pub const OPENID_RESPONSE_BYTES: usize = 256 * 1024;
/// Age at which the metadata and the keys of the provider are fetched again.
pub const OPENID_METADATA_AGE: Duration = Duration::from_secs(60 * 60);
/// Minimum interval between two fetches of the keys because a token names an unknown one.
pub const OPENID_KEYS_INTERVAL: Duration = Duration::from_secs(60);
/// Exchanges of codes at the provider at once: a flood of returns is not passed on to it.
pub const OPENID_EXCHANGES: usize = 32;
/// Clock difference between this machine and the provider that a new authentication may have.
pub const OPENID_CLOCK_SKEW: Duration = Duration::from_secs(30);
/// Recovery codes of a user, each for one sign-in without the authenticator.
pub const RECOVERY_CODES: usize = 10;
/// Validity of single-use links: people read an invitation days later, a reset at once.
pub const INVITATION_LIFETIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);
pub const RESET_LIFETIME: Duration = Duration::from_secs(60 * 60);
pub const SIGN_IN_LINK_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// Failed sign-ins of one e-mail address or client address without a delay. The delay then doubles
/// from the first to the longest one. There is no permanent lock: anyone could lock a user out.
pub const SIGN_IN_FREE_FAILURES: u32 = 3;
pub const SIGN_IN_FIRST_DELAY: Duration = Duration::from_secs(1);
pub const SIGN_IN_LONGEST_DELAY: Duration = Duration::from_secs(15 * 60);
/// Time without a failure after which earlier ones no longer count.
pub const SIGN_IN_FAILURES_KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// E-mail and client addresses with failed sign-ins in memory. Beyond it the one with the fewest
/// failures is forgotten.
pub const SIGN_IN_ADDRESSES: usize = 20_000;
/// Users in memory: staff of all merchants of an installation, some kilobytes each.
pub const USERS: usize = 50_000;
/// API tokens of one user, and their longest validity.
pub const TOKENS_PER_USER: usize = 20;
pub const USER_TOKEN_LIFETIME: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// Validity of a proposal for a second person: over a weekend.
pub const APPROVAL_LIFETIME: Duration = Duration::from_secs(72 * 60 * 60);
/// Open proposals of one account, and of the installation: a person reads each.
pub const OPEN_APPROVALS: usize = 1_000;
/// Bytes of a proposal's payload: a payout or a set of routing rules.
pub const APPROVAL_PAYLOAD_BYTES: usize = 256 * 1024;
/// Bytes of the values before and after a change in the audit log. Larger ones are replaced by
/// their SHA-256.
pub const AUDIT_CHANGE_BYTES: usize = 16 * 1024;
/// Entries of the audit log about refusals in an hour: of one user, e-mail address or client
/// address, and of all clients that are not signed in. The last one has the count of the refusals
/// that were left out. A flood of wrong passwords adds 17 MB a day at most.
pub const AUDIT_REFUSALS: usize = 20;
pub const AUDIT_ANONYMOUS_REFUSALS: usize = 2_000;
pub const AUDIT_REFUSALS_COUNTED_FOR: Duration = Duration::from_secs(60 * 60);
/// Entries of the audit log on one page, and those read for a page with a filter.
pub const AUDIT_PAGE: usize = 200;
pub const AUDIT_SCANNED: usize = 5_000;
/// Faults that a verification of the audit log names. With more the log is to be restored.
pub const AUDIT_FAULTS: usize = 100;
