//! The world of one attempt's calls: its requests, the journal, the calls in flight.

use switchyard_core::journal::{Stage, Tally};

/// Ticks of a minute. A call lasts one at most.
pub const CALL: u8 = 1;
/// Ticks after which a request that left does not arrive any more: the provider's promise.
pub const PROMISED: u8 = 2;
/// Ages beyond this are alike: every deadline has passed, also when the clock is set back.
const OLDEST: i8 = 4;
const OLDEST_WITH_CLOCK: i8 = 7;

/// Which part of all histories is explored.
#[derive(Clone, Copy, Debug)]
pub struct CallScope {
    /// Requests that can move money.
    pub requests: usize,
    /// How often the engine may die.
    pub deaths: u8,
    /// Ticks by which the clock may be set, once, between two processes.
    pub clock: &'static [i8],
    /// Whether the connection's credentials may become those of another account.
    pub credentials: bool,
    /// Whether the journal may be unwritable, or unreadable.
    pub faults: bool,
}

impl CallScope {
    const fn oldest(&self) -> i8 {
        match self.clock.is_empty() {
            true => OLDEST,
            false => OLDEST_WITH_CLOCK,
        }
    }

    pub fn name(&self) -> String {
        let mut name = format!("call {} requests", self.requests);
        for (part, is_in) in [
            (" +clock", !self.clock.is_empty()),
            (" +credentials", self.credentials),
            (" +faults", self.faults),
        ] {
            if is_in {
                name.push_str(part);
            }
        }
        name
    }
}

/// State of a request in the network and at the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// No byte has left.
    NotLeft,
    /// Sent so many ticks ago; may arrive.
    OnTheWay(u8),
    /// Never arrives, or repeats a request that arrived.
    Lost,
    Executed,
    Refused,
}

/// State of a request in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flight {
    /// Recorded durably; not sent.
    Announced,
    Out,
    /// Answered, failed or dropped.
    Over,
}

/// A request that can move money, and its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// `None`: the row is not in the journal.
    pub stage: Option<Stage>,
    /// Ticks since the row's time, by the engine's clock.
    pub age: i8,
    /// Ticks since the written end of its exchange, by the engine's clock.
    pub ended: Option<i8>,
    pub truth: Truth,
    pub flight: Flight,
    /// The provider's answer reached the gateway.
    pub is_answered: bool,
    /// The account it was sent with.
    pub account: bool,
}

/// A call in flight: the submission, or a later one that continues it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlight {
    pub submits: bool,
    pub ticks: u8,
    pub tally: Tally,
    pub account: bool,
}

/// A query in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// Ticks since it began, by the engine's clock.
    pub age: i8,
    pub account: bool,
    /// Record that the provider read, once it did.
    pub read: Option<Read>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    NotFound,
    Executed,
    Refused,
}

/// State of the attempt as the core knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    Started,
    InDoubt,
    Succeeded,
    Declined,
    NotSent,
}

impl Known {
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Started | Self::InDoubt)
    }
}

#[derive(Clone, Debug)]
pub struct Calls {
    /// Requests, without those that surely did not leave and are over.
    pub requests: Vec<Request>,
    /// How many there were.
    pub made: u8,
    pub call: Option<InFlight>,
    pub query: Option<Query>,
    pub known: Known,
    pub resumed: u8,
    /// Ticks since this process began, by its clock.
    pub began: i8,
    /// Ticks since the credentials were changed, by the engine's clock.
    pub changed: Option<i8>,
    /// The account of the connection now.
    pub account: bool,
    pub deaths: u8,
    pub was_clock_set: bool,
}

impl Calls {
    pub fn start() -> Self {
        Self {
            requests: Vec::new(),
            made: 0,
            call: Some(InFlight {
                submits: true,
                ticks: 0,
                tally: Tally::default(),
                account: false,
            }),
            query: None,
            known: Known::Started,
            resumed: 0,
            began: OLDEST,
            changed: None,
            account: false,
            deaths: 0,
            was_clock_set: false,
        }
    }

    /// Whether money has moved or may yet move.
    pub fn may_move(&self) -> bool {
        self.requests.iter().any(|request| match request.truth {
            Truth::OnTheWay(_) | Truth::Executed => true,
            Truth::NotLeft => request.flight == Flight::Announced,
            Truth::Lost | Truth::Refused => false,
        })
    }

    /// An attempt that ended, once that was checked: nothing about it matters any more.
    pub fn ended(known: Known) -> Self {
        Self {
            call: None,
            known,
            ..Self::start()
        }
    }

    /// Leaves out facts that no rule reads any more. The time of a row whose exchange ended only
    /// counts against a change of the credentials.
    pub fn forget(&mut self, scope: &CallScope) {
        let is_away = self.call.is_some();
        self.requests.retain(|request| {
            let is_over = request.flight == Flight::Over && request.truth == Truth::NotLeft;
            !is_over || !matches!(request.stage, None | Some(Stage::NotSent))
        });
        for request in &mut self.requests {
            request.is_answered &= is_away;
            if request.stage == Some(Stage::NotSent) {
                request.ended = None;
            }
            if !scope.credentials {
                request.age = request.ended.unwrap_or(request.age);
            }
        }
    }

    /// All ages by the engine's clock.
    pub fn ages(&mut self) -> impl Iterator<Item = &mut i8> {
        let requests = self.requests.iter_mut();
        let requests = requests
            .flat_map(|request| std::iter::once(&mut request.age).chain(&mut request.ended));
        let query = self.query.iter_mut().map(|query| &mut query.age);
        requests
            .chain(query)
            .chain([&mut self.began])
            .chain(&mut self.changed)
    }

    /// A minute passes.
    pub fn tick(&mut self, scope: &CallScope) {
        let oldest = scope.oldest();
        self.ages().for_each(|age| *age = (*age + 1).min(oldest));
        if let Some(call) = &mut self.call {
            call.ticks += 1;
        }
        for request in &mut self.requests {
            if let Truth::OnTheWay(ticks) = request.truth {
                request.truth = match ticks + 1 < PROMISED {
                    true => Truth::OnTheWay(ticks + 1),
                    false => Truth::Lost,
                };
            }
        }
    }
}

const STAGES: [Option<Stage>; 4] = [
    None,
    Some(Stage::MaybeSent),
    Some(Stage::Answered),
    Some(Stage::NotSent),
];
const FLIGHTS: [Flight; 3] = [Flight::Announced, Flight::Out, Flight::Over];
const READS: [Option<Read>; 4] = [
    None,
    Some(Read::NotFound),
    Some(Read::Executed),
    Some(Read::Refused),
];
const KNOWN: [Known; 5] = [
    Known::Started,
    Known::InDoubt,
    Known::Succeeded,
    Known::Declined,
    Known::NotSent,
];
const TRUTHS: [Truth; 4 + PROMISED as usize] = [
    Truth::NotLeft,
    Truth::Lost,
    Truth::Executed,
    Truth::Refused,
    Truth::OnTheWay(0),
    Truth::OnTheWay(1),
];

fn place<T: PartialEq>(all: &[T], one: &T) -> u8 {
    let place = all.iter().position(|known| known == one);
    u8::try_from(place.expect("a listed value")).unwrap_or(u8::MAX)
}

/// Writes the key of `world`. Each struct is taken apart field by field.
pub fn encode(world: &Calls, key: &mut Vec<u8>) {
    let Calls {
        requests,
        made,
        call,
        query,
        known,
        resumed,
        began,
        changed,
        account,
        deaths,
        was_clock_set,
    } = world;
    key.clear();
    key.extend([
        place(&KNOWN, known),
        *made,
        *resumed,
        began.cast_unsigned(),
        changed.unwrap_or(i8::MIN).cast_unsigned(),
        u8::from(*account),
        *deaths,
        u8::from(*was_clock_set),
    ]);
    key.push(u8::from(call.is_some()));
    if let Some(InFlight {
        submits,
        ticks,
        tally: Tally { maybe_sent, out },
        account,
    }) = call
    {
        let small = |number: usize| u8::try_from(number).unwrap_or(u8::MAX);
        let account = u8::from(*account);
        key.extend([
            u8::from(*submits),
            *ticks,
            small(*maybe_sent),
            small(*out),
            account,
        ]);
    }
    key.push(u8::from(query.is_some()));
    if let Some(Query { age, account, read }) = query {
        let read = place(&READS, read);
        key.extend([age.cast_unsigned(), u8::from(*account), read]);
    }
    for request in requests {
        let Request {
            stage,
            age,
            ended,
            truth,
            flight,
            is_answered,
            account,
        } = request;
        key.extend([
            place(&STAGES, stage),
            age.cast_unsigned(),
            ended.unwrap_or(i8::MIN).cast_unsigned(),
            place(&TRUTHS, truth),
            place(&FLIGHTS, flight),
            u8::from(*is_answered),
            u8::from(*account),
        ]);
    }
}

/// The world that `key` stands for.
pub fn decode(key: &[u8]) -> Calls {
    let mut bytes = key.iter().copied();
    let mut byte = || bytes.next().expect("a whole key");
    let known = KNOWN[usize::from(byte())];
    let (made, resumed, began) = (byte(), byte(), byte().cast_signed());
    let changed = Some(byte().cast_signed()).filter(|age| *age != i8::MIN);
    let (account, deaths, was_clock_set) = (byte() != 0, byte(), byte() != 0);
    let call = (byte() != 0).then(|| InFlight {
        submits: byte() != 0,
        ticks: byte(),
        tally: Tally {
            maybe_sent: byte().into(),
            out: byte().into(),
        },
        account: byte() != 0,
    });
    let query = (byte() != 0).then(|| Query {
        age: byte().cast_signed(),
        account: byte() != 0,
        read: READS[usize::from(byte())],
    });
    let mut requests = Vec::new();
    while let Some(stage) = bytes.next() {
        let mut byte = || bytes.next().expect("a whole key");
        requests.push(Request {
            stage: STAGES[usize::from(stage)],
            age: byte().cast_signed(),
            ended: Some(byte().cast_signed()).filter(|age| *age != i8::MIN),
            truth: TRUTHS[usize::from(byte())],
            flight: FLIGHTS[usize::from(byte())],
            is_answered: byte() != 0,
            account: byte() != 0,
        });
    }
    Calls {
        requests,
        made,
        call,
        query,
        known,
        resumed,
        began,
        changed,
        account,
        deaths,
        was_clock_set,
    }
}
