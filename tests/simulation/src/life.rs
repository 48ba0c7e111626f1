//! One life of the process: from the start of the engine to a crash, or until everything is at
//! rest.

use std::sync::Arc;
use std::time::Duration;

use switchyard_core::directory::Directory;
use switchyard_core::ids::TransactionId;
use switchyard_core::secret::Secret;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{ClientContext, Refusal, Status, Transaction};
use switchyard_engine::access::{Access, Caller, KeyKind};
use switchyard_engine::callback::CallbackRequest;
use switchyard_engine::engine::{
    ConfirmRequest, Dependencies, Engine, EngineError, EngineSettings, NewPayment, NewPayout,
};
use switchyard_engine::exchange_rates::{ExchangeRates, FeedSettings};
use switchyard_engine::hold::{Hold, Reasons};
use switchyard_engine::idempotency::{
    Answer, Begin, Idempotency, KeyedRequest, KeyedResponse, Route,
};
use switchyard_engine::quota::LimitSettings;
use switchyard_engine::testing::{START, amount, customer};
use switchyard_records::NewCustomer;
use switchyard_store::Disk;
use switchyard_store::Store;
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;
use switchyard_system::simulation;

use crate::faults;
use crate::gateway::signature;
use crate::image::{self, CALLBACK_SECRET, Image};
use crate::world::{Deed, Happening, MINUTE, SECOND, Shared, line};

/// End of a life.
pub enum Ended {
    Died,
    /// Everything has come to rest.
    AtRest,
}

/// Inputs of a life.
pub struct Life<'h> {
    pub world: &'h Shared,
    pub disk: &'h Disk,
    pub image: &'h Arc<Image>,
    /// Number of the life, from 0. Part of the seed of ids, so that no two lives share an id.
    pub number: u64,
    pub die_at: Option<u64>,
}

/// Objects that deeds act on.
#[derive(Clone)]
pub(crate) struct Hands {
    pub(crate) world: Shared,
    pub(crate) engine: Engine,
    idempotency: Idempotency,
    pub(crate) image: Arc<Image>,
}

impl Life<'_> {
    /// Runs the life. Work in progress in the process is lost at its end.
    pub fn live(&self) -> Ended {
        let _entered = simulation::enter(simulation::World {
            line: line(self.world),
            decide: faults::decisions::replaced(),
        });
        let system = actix::System::with_tokio_rt(|| {
            tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .start_paused(true)
                .build()
                .expect("a runtime without threads and sockets takes nothing that could be missing")
        });
        system.block_on(async {
            self.world.lock().begin_life(self.die_at);
            let ended = tokio::select! {
                biased;
                () = self.world.died() => Ended::Died,
                () = self.run() => Ended::AtRest,
            };
            self.world.lock().end_life();
            ended
        })
    }

    async fn run(&self) {
        let (engine, clock) = self.start().await;
        let hands = Hands {
            world: self.world.clone(),
            idempotency: Idempotency::new(engine.store().clone(), clock.clone()),
            engine: engine.clone(),
            image: Arc::clone(self.image),
        };
        hands.work(&clock).await;
        hands.settle(&clock).await;
        crate::history::gather(self.world, self.disk, &engine, self.image).await;
    }

    /// Starts the engine from the contents of the disk, as the program does.
    async fn start(&self) -> (Engine, Clock) {
        let (seed, wall) = {
            let world = self.world.lock();
            (
                world.plan.seed,
                START.as_micros() + world.now() + world.skew,
            )
        };
        let clock = Clock::simulated(Timestamp::from_micros(wall));
        let ids = Ids::seeded(seed.wrapping_mul(31).wrapping_add(self.number));
        let store = Store::simulated(self.disk).expect("what is on the disk can be read");
        let access = Access::load(
            store.clone(),
            image::vault(&ids),
            clock.clone(),
            ids.clone(),
            image::options(),
        );
        let access = access.await.expect("what is on the disk can be read");
        let exchange_rates =
            ExchangeRates::load(store.clone(), clock.clone(), FeedSettings::default(), false);
        let exchange_rates = exchange_rates
            .await
            .expect("what is on the disk can be read");
        let hold = Hold::open(store.clone(), clock.clone(), Reasons::default());
        let hold = hold.await.expect("what is on the disk can be read");
        let gateways = image::shelved(&clock, &ids);
        let kept = gateways.keep_in(&store).await;
        kept.expect("what is on the disk can be read");
        let mut settings = EngineSettings {
            // Each history has a handful of payers, who confirm without limit.
            limits: LimitSettings::none(),
            ..EngineSettings::default()
        };
        settings.mail.from = "Switchyard <no-reply@pay.example.com>".to_owned();
        let engine = Engine::start(Dependencies {
            store,
            access,
            gateways,
            exchange_rates,
            directory: directory(),
            clock: clock.clone(),
            ids,
            hold,
            settings,
        });
        (engine.expect("it starts without threads"), clock)
    }
}

fn directory() -> Arc<Directory> {
    static DIRECTORY: std::sync::OnceLock<Arc<Directory>> = std::sync::OnceLock::new();
    DIRECTORY
        .get_or_init(|| Arc::new(Directory::new("switchyard")))
        .clone()
}

impl Hands {
    /// Performs the deeds on the agenda until it is empty.
    async fn work(&self, clock: &Clock) {
        loop {
            let (deed, next, now) = {
                let mut world = self.world.lock();
                let now = world.now();
                (world.happen(now), world.next_at(), now)
            };
            clock.set_grain(grain(now));
            match deed {
                Some(Some(Deed::SetClock { micros })) => {
                    let mut world = self.world.lock();
                    world.note(format_args!("the clock is set by {} s", micros / SECOND));
                    world.skew += micros;
                    clock.set_by(micros);
                }
                Some(Some(deed)) => self.begin(deed),
                Some(None) => {}
                None => {
                    let next = next.unwrap_or(now + MINUTE);
                    if self.world.lock().is_quiet() {
                        return;
                    }
                    let wait = Duration::from_micros(u64::try_from(next - now).unwrap_or(0));
                    tokio::select! {
                        biased;
                        () = self.world.changed() => {}
                        () = tokio::time::sleep(wait) => {}
                    }
                }
            }
        }
    }

    /// Lets days pass until everything is final and delivered, or has a case. Requires two polls in
    /// a row: a process that has just started has not yet recovered its open work.
    async fn settle(&self, clock: &Clock) {
        let began = self.world.lock().now();
        let mut was_settled = false;
        loop {
            let now = self.world.lock().now();
            let is_settled = crate::history::is_settled(&self.engine).await;
            if now - began > DAYS || (was_settled && is_settled) {
                return;
            }
            was_settled = is_settled;
            let grain = grain(now);
            clock.set_grain(grain);
            // Events of providers in the meantime are on the agenda.
            tokio::time::sleep(grain.max(Duration::from_millis(500))).await;
            self.work_off().await;
        }
    }

    /// Performs the deeds on the agenda that are due.
    async fn work_off(&self) {
        loop {
            let deed = {
                let mut world = self.world.lock();
                let now = world.now();
                world.happen(now)
            };
            match deed {
                Some(Some(deed)) => self.begin(deed),
                Some(None) => {}
                None => return,
            }
        }
    }

    /// Starts a deed. Other deeds run concurrently.
    fn begin(&self, deed: Deed) {
        self.world.lock().acting += 1;
        let hands = self.clone();
        tokio::spawn(async move {
            let world = hands.world.clone();
            hands.act(deed).await;
            world.lock().has_acted();
        });
    }

    async fn act(self, deed: Deed) {
        match deed {
            Deed::Ask { order } => self.ask(order).await,
            Deed::Confirm { order, tab } => self.confirm(order, tab).await,
            Deed::Cancel { order } => {
                if let Some(id) = self.id(order) {
                    let cancelled = self.engine.cancel(id).await;
                    self.saw("the payer, who cancels,", order, cancelled.map(Some));
                }
            }
            Deed::Verify { order } => {
                if let Some(id) = self.id(order) {
                    let verified = self.engine.verify(id).await;
                    let has_succeeded =
                        matches!(&verified, Ok(Some(tx)) if tx.status() == Status::Success);
                    self.saw("the merchant, who verifies,", order, verified);
                    if has_succeeded {
                        let processed = self.engine.mark_processed(id).await;
                        self.saw("the merchant, who delivers,", order, processed.map(Some));
                    }
                }
            }
            Deed::CallBack { index, tries } => self.call_back(index, tries).await,
            Deed::TypeCode { order, tries } => self.type_code(order, tries).await,
            Deed::Operate { turn } => self.operate(turn).await,
            Deed::OperateNow => {
                let turn = self.world.lock().next_turn();
                self.operate(turn).await;
            }
            Deed::Restore { gateway } => self.restore(gateway).await,
            Deed::SetRate { cents } => self.set_rate(cents).await,
            Deed::Check { order } => self.check(order).await,
            Deed::Settle { order } => self.settle_by_hand(order).await,
            Deed::CancelByHand { order } => self.cancel_by_hand(order).await,
            Deed::CloseCases { order } => self.close_cases(order).await,
            Deed::CatchUp { webhook } => self.catch_up(webhook).await,
            Deed::SetClock { .. } => {}
        }
    }

    /// Sends the merchant's request. With a key it is repeated until it is answered.
    async fn ask(&self, order: usize) {
        let (new, again) = {
            let mut world = self.world.lock();
            let asked = world.orders[order].clone();
            let again = asked.key.is_some() && asked.id.is_none();
            if again {
                let patience = i64::try_from(world.patience.between(3, 30)).unwrap_or(3) * SECOND;
                world.later(patience, Happening::Deed(Deed::Ask { order }));
            }
            world.note(format_args!("order {order} is asked for"));
            (asked, again)
        };
        let caller = self.caller(new.is_live);
        let made = match &new.key {
            None => self
                .initialize(&caller, order, None)
                .await
                .map(|id| id.to_string()),
            Some(key) => self.initialize_once(&caller, order, key).await,
        };
        match made {
            Ok(id) => self.world.lock().accepted(order, &id),
            Err(error) => {
                let mut world = self.world.lock();
                world.note(format_args!(
                    "order {order} is not taken ({error}), again: {again}"
                ));
            }
        }
    }

    async fn initialize(
        &self,
        caller: &Caller,
        order: usize,
        once: Option<&KeyedResponse<'_>>,
    ) -> Result<TransactionId, EngineError> {
        let asked = self.world.lock().orders[order].clone();
        let amount = amount(asked.minor, "USD");
        let description = format!("order {order}");
        let made = if asked.is_payout {
            let new = NewPayout {
                amount,
                description,
                method: "simulated_payout_usd".to_owned(),
                recipient: [("account_number".to_owned(), "1".to_owned())].into(),
                customer: customer(),
                metadata: Default::default(),
                context: ClientContext::default(),
            };
            self.engine.initialize_payout(caller, new, once).await
        } else {
            let new = NewPayment {
                amount,
                description,
                return_url: "https://shop.example/return".to_owned(),
                customer: customer(),
                metadata: Default::default(),
                methods: Vec::new(),
                restriction: None,
                expires_in: None,
                context: ClientContext::default(),
            };
            self.engine.initialize_payment(caller, new, once).await
        };
        made.map(|tx| tx.id)
    }

    /// Handles a request with a key as the API does.
    async fn initialize_once(
        &self,
        caller: &Caller,
        order: usize,
        key: &str,
    ) -> Result<String, EngineError> {
        let is_payout = self.world.lock().orders[order].is_payout;
        let keyed = KeyedRequest {
            kind: KeyKind::Secret,
            app: caller.app.id,
            environment: caller.environment,
            route: match is_payout {
                true => Route::InitializePayout,
                false => Route::InitializePayment,
            },
            key: key.to_owned(),
            fields: vec![("order".to_owned(), order.to_string())],
        };
        let kept = |id: TransactionId| Answer {
            status: 201,
            body: id.to_string(),
        };
        let pending = match self.idempotency.begin(&keyed).await? {
            Begin::First(pending) => pending,
            Begin::Replay(answer) => return Ok(answer.body),
            Begin::Differs(_) | Begin::InFlight => return Err(EngineError::Overtaken),
        };
        let once = KeyedResponse {
            pending: &pending,
            answer: &kept,
            with: None,
        };
        let made = self.initialize(caller, order, Some(&once)).await;
        made.map(|id| id.to_string())
    }

    async fn confirm(&self, order: usize, tab: u8) {
        let Some(id) = self.id(order) else { return };
        {
            let mut world = self.world.lock();
            if tab == INSISTING && world.orders[order].is_confirmed {
                return;
            }
            // A payer without an answer, because the process crashed, returns.
            let tab = INSISTING;
            world.later(8 * SECOND, Happening::Deed(Deed::Confirm { order, tab }));
        }
        let Ok(found) = self.engine.transaction(id).await else {
            return;
        };
        let Some(tx) = found else {
            // The page shows that the payment does not exist, so the payer does not return.
            let mut world = self.world.lock();
            let is_answered = !world.is_dead;
            world.orders[order].is_confirmed |= is_answered;
            return;
        };
        let method = self.world.lock().orders[order].method;
        let Some(price) = self.engine.price(&tx, method) else {
            return;
        };
        let price = price.amount;
        let reading = {
            let mut world = self.world.lock();
            world.reads(order, price.minor(), price.currency().code())
        };
        tokio::time::sleep(Duration::from_micros(reading.unsigned_abs())).await;
        let choice = ConfirmRequest {
            method: method.to_owned(),
            country: None,
            phone: None,
            fields: Default::default(),
            missing: NewCustomer::default(),
            context: ClientContext::default(),
            agreed: Some(price),
        };
        let confirmed = self.engine.confirm(id, choice).await;
        let whom = format!("the payer, who confirms in tab {tab},");
        {
            let mut world = self.world.lock();
            let is_answered =
                !world.is_dead && !matches!(confirmed, Err(EngineError::Unavailable(_)));
            world.orders[order].is_confirmed |= is_answered;
        }
        self.saw(&whom, order, confirmed.map(Some));
    }

    /// Types the code that the provider sent, if the page asks for it. Repeated if the code is
    /// wrong or lost.
    async fn type_code(&self, order: usize, tries: u32) {
        let Some(id) = self.id(order) else { return };
        if tries < CODES {
            let mut world = self.world.lock();
            let tries = tries + 1;
            let again = world.hesitates();
            world.later(again, Happening::Deed(Deed::TypeCode { order, tries }));
        }
        let Ok(Some(tx)) = self.engine.transaction(id).await else {
            return;
        };
        let Some(attempt) = tx.asks_for_code() else {
            return;
        };
        let code = self.world.lock().types(&attempt.reference.to_string());
        let (attempt, tried) = (attempt.id, attempt.codes);
        let submitted = self
            .engine
            .submit_code(id, attempt, tried, Secret::new(code), None)
            .await;
        self.saw("the payer, who types a code,", order, submitted.map(Some));
    }

    async fn call_back(&self, index: usize, tries: u32) {
        let calling = {
            let mut world = self.world.lock();
            let calling = world.evidence.callings[index].clone();
            if calling.acknowledged_at.is_some() && tries > 0 {
                return;
            }
            if tries < CALLS {
                let pause = (20 * SECOND) << tries;
                let again = Deed::CallBack {
                    index,
                    tries: tries + 1,
                };
                world.later(pause, Happening::Deed(again));
            }
            calling
        };
        let Some(connection) = self.image.connections.get(&calling.host) else {
            return;
        };
        let secret = if calling.signed {
            CALLBACK_SECRET
        } else {
            "guessed"
        };
        let signed = signature(secret, calling.body.as_bytes());
        let request = CallbackRequest {
            method: "POST".to_owned(),
            path: format!("/callbacks/{connection}"),
            query: String::new(),
            headers: vec![("x-signature".to_owned(), signed)],
            body: calling.body.clone().into_bytes(),
            from: None,
        };
        let taken = self.engine.receive_callback(*connection, request).await;
        let mut world = self.world.lock();
        let (of, status, signed) = (&calling.reference, &calling.status, calling.signed);
        let result = match &taken {
            Ok(answer) => answer.status.to_string(),
            Err(error) => error.to_string(),
        };
        world.note(format_args!(
            "a callback ({status} of {of}, signed: {signed}) is answered {result}"
        ));
        if taken.is_ok() && !world.is_dead {
            let now = world.now();
            world.evidence.callings[index].acknowledged_at = Some(now);
        }
    }

    pub(crate) fn saw(
        &self,
        whom: &str,
        order: usize,
        seen: Result<Option<Arc<Transaction>>, EngineError>,
    ) {
        let mut world = self.world.lock();
        if let Err(EngineError::Refused(Refusal::NoCandidate)) = &seen {
            let id = world.orders[order].id.clone().unwrap_or_default();
            world.evidence.turned_away.push(format!("{whom} {id}"));
        }
        match seen {
            Ok(Some(tx)) => world.sees(whom, &tx.id.to_string(), tx.status().as_str(), tx.version),
            Ok(None) => world.note(format_args!("{whom} finds nothing of order {order}")),
            Err(error) => world.note(format_args!("{whom} is told: {error}")),
        }
    }

    pub(crate) fn id(&self, order: usize) -> Option<TransactionId> {
        self.world.lock().orders[order].id.as_ref()?.parse().ok()
    }

    fn caller(&self, is_live: bool) -> Caller {
        let keys = &self.image.keys;
        let key = match is_live {
            true => &keys.live_secret_key,
            false => &keys.sandbox_secret_key,
        };
        let caller = self.engine.access().authenticate(key.expose());
        caller.expect("the image has this key")
    }
}

/// Maximum delay of timers: none in the busy minute at the start, then increasing, so that days
/// pass quickly.
fn grain(now: i64) -> Duration {
    let late = (now - EXACT_UNTIL).max(0) / 24;
    Duration::from_micros(u64::try_from(late.min(30 * MINUTE)).unwrap_or(0))
}

/// Time until which timers are exact.
pub const EXACT_UNTIL: i64 = 90 * SECOND;
/// Tab of a payer who got no answer.
const INSISTING: u8 = 9;
/// Maximum number of repetitions of a code by a payer.
const CODES: u32 = 4;
/// Maximum number of callbacks that a provider sends until one is answered.
const CALLS: u32 = 7;
/// Longer than the query schedule takes to open a case, and longer than the retries of webhooks and
/// mails.
const DAYS: i64 = 5 * 24 * 60 * MINUTE;
