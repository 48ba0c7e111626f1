//! SDK for gateways: the only part of Switchyard that a gateway depends on.
//!
//! A gateway is a shared library that *computes*: it says which HTTP request to send, and the
//! engine sends it. There are no sockets, threads, clocks or globals inside. You write an ordinary
//! `async fn`; each `send().await` crosses to the engine and comes back with the provider's answer.
//!
//! ```
//! use serde::Deserialize;
//! use serde_json::json;
//! use switchyard_gateway::{Amount, Collect, Context, Fault, Gateway, Outcome};
//!
//! #[derive(Default)]
//! struct Acme;
//!
//! #[derive(Deserialize)]
//! struct Config {
//!     key: String,
//! }
//!
//! #[derive(Deserialize)]
//! struct Charge {
//!     id: String,
//!     amount: String,
//!     currency: String,
//! }
//!
//! impl Gateway for Acme {
//!     async fn collect(&self, cx: &Context, ask: Collect) -> Result<Outcome, Fault> {
//!         let config: Config = cx.config()?;
//!         let request = cx.post("https://api.acme.example/charges").bearer(&config.key);
//!         let body = json!({ "id": ask.reference, "amount": ask.amount.decimal });
//!         let charge: Charge = request.json(&body).send().await?.json()?;
//!         let paid = Outcome::succeeded(Amount::decimal(charge.amount, charge.currency));
//!         Ok(paid.with_provider_id(charge.id))
//!     }
//! }
//! ```
//!
//! A library ends with `gateway!(Acme);`.
//!
//! [`gateway!`] exports the one symbol of [`abi`] and embeds `gateway.json`, the manifest beside your
//! `Cargo.toml`. In a test, [`testing`] drives the gateway and answers its effects without any
//! library.
//!
//! The one rule about money: **a fault never means declined**. The engine knows which requests
//! left, so `?` is safe anywhere.

// One proof, one deed: a proof of several is a proof of none.
#![deny(clippy::multiple_unsafe_ops_per_block)]

pub mod abi;
mod callback;
mod chance;
mod context;
mod fault;
pub mod http;
mod input;
mod list;
pub mod manifest;
mod outcome;
pub mod runtime;
pub mod testing;
mod time;
pub mod wire;

pub use callback::CallbackResult;
pub use context::Context;
pub use fault::{Fault, FaultKind};
pub use input::{
    Callback, Cancel, Collect, Direction, Environment, Fields, Money, Options, Payer, Payout,
    Query, Refund, SubmitInput,
};
pub use list::{List, ListedState, ListedTransaction, TransactionPage};
pub use outcome::{
    Amount, ConfigCheck, DeclineReason, OptionList, Outcome, PayerAction, Prompt, Texts,
};
pub use time::Moment;
pub use wire::{LogLevel, Operation};

/// One provider's protocol. Write the operations that the provider has and list them in the
/// manifest; leave the others out.
///
/// The engine creates a gateway for each call. It keeps nothing between calls: the configuration
/// comes with the call, tokens belong into the engine's cache, and the engine stores the attempt's
/// state.
///
/// ```
/// use serde::Deserialize;
/// use switchyard_gateway::{
///     Amount, Collect, Context, DeclineReason, Fault, Gateway, Outcome, PayerAction, Query,
/// };
///
/// #[derive(Default)]
/// struct Acme;
///
/// #[derive(Deserialize)]
/// struct Charge {
///     id: String,
///     status: String,
///     amount: String,
///     currency: String,
///     page: Option<String>,
/// }
///
/// /// What a charge says, however it was learned.
/// fn outcome(charge: Charge) -> Outcome {
///     let outcome = match charge.status.as_str() {
///         "paid" => Outcome::succeeded(Amount::decimal(charge.amount, charge.currency)),
///         "refused" => Outcome::declined(DeclineReason::Other, "Acme refused the charge"),
///         "open" => match charge.page {
///             Some(url) => Outcome::awaiting(PayerAction::Redirect { url }),
///             None => Outcome::pending(),
///         },
///         // A state that is not known says nothing about the money.
///         other => Outcome::unknown(format!("Acme has the state `{other}`")),
///     };
///     outcome.with_provider_id(charge.id)
/// }
///
/// impl Gateway for Acme {
///     async fn collect(&self, cx: &Context, ask: Collect) -> Result<Outcome, Fault> {
///         let body = serde_json::json!({ "id": ask.reference, "amount": ask.amount.decimal });
///         let request = cx.post("https://api.acme.example/charges").json(&body);
///         Ok(outcome(request.send().await?.json()?))
///     }
///
///     async fn query(&self, cx: &Context, ask: Query) -> Result<Outcome, Fault> {
///         let url = format!("https://api.acme.example/charges/{}", ask.reference);
///         let answer = cx.get(url).send().await?;
///         if answer.status == 404 {
///             return Ok(Outcome::NotFound { why: "Acme has no such charge".into() });
///         }
///         Ok(outcome(answer.json()?))
///     }
/// }
/// # let _ = Acme;
/// ```
#[expect(
    async_fn_in_trait,
    reason = "`gateway!` names the concrete type, so the compiler checks that its futures are `Send`"
)]
pub trait Gateway: Default + Send + Sync + 'static {
    /// One harmless live call that says whether the credentials work.
    ///
    /// ```
    /// use switchyard_gateway::{ConfigCheck, Context, Fault, Gateway};
    ///
    /// # #[derive(Default)]
    /// # struct Acme;
    /// impl Gateway for Acme {
    ///     async fn check_config(&self, cx: &Context) -> Result<ConfigCheck, Fault> {
    ///         let account = cx.get("https://api.acme.example/account").send().await?;
    ///         match account.status {
    ///             200 => Ok(ConfigCheck::Works { account: None }),
    ///             401 => Ok(ConfigCheck::Refused {
    ///                 message: "Acme does not know this key".into(),
    ///                 field: Some("api_key".into()),
    ///             }),
    ///             // Says nothing about the key.
    ///             other => Err(Fault::provider(format!("Acme answered {other}"))),
    ///         }
    ///     }
    /// }
    /// ```
    async fn check_config(&self, _cx: &Context) -> Result<ConfigCheck, Fault> {
        Err(Fault::unsupported("check_config"))
    }

    /// Take money from a payer.
    ///
    /// ```
    /// use switchyard_gateway::{Collect, Context, Fault, Gateway, Outcome, PayerAction};
    ///
    /// # #[derive(Default)]
    /// # struct Acme;
    /// impl Gateway for Acme {
    ///     async fn collect(&self, cx: &Context, ask: Collect) -> Result<Outcome, Fault> {
    ///         let order = serde_json::json!({
    ///             "id": ask.reference,
    ///             "amount": ask.amount.minor,
    ///             "currency": ask.amount.currency,
    ///             "back_to": ask.return_url,
    ///         });
    ///         let request = cx.post("https://api.acme.example/orders").json(&order);
    ///         let page: String = request.send().await?.json()?;
    ///         Ok(Outcome::awaiting(PayerAction::Redirect { url: page }))
    ///     }
    /// }
    /// ```
    async fn collect(&self, _cx: &Context, _ask: Collect) -> Result<Outcome, Fault> {
        Err(Fault::unsupported("collect"))
    }

    /// Send money to a recipient.
    ///
    /// ```
    /// use switchyard_gateway::{Context, Fault, Gateway, Outcome, Payout};
    ///
    /// # #[derive(Default)]
    /// # struct Acme;
    /// impl Gateway for Acme {
    ///     async fn payout(&self, cx: &Context, ask: Payout) -> Result<Outcome, Fault> {
    ///         let phone = ask.recipient.get("msisdn");
    ///         let phone = phone.ok_or_else(|| Fault::provider("the recipient has no phone"))?;
    ///         let transfer = serde_json::json!({
    ///             "id": ask.reference, "to": phone, "amount": ask.amount.decimal,
    ///         });
    ///         let request = cx.post("https://api.acme.example/transfers").json(&transfer);
    ///         let answer = request.send().await?;
    ///         Ok(match answer.status {
    ///             202 => Outcome::pending(),
    ///             other => Outcome::unknown(format!("Acme answered {other}")),
    ///         })
    ///     }
    /// }
    /// ```
    async fn payout(&self, _cx: &Context, _ask: Payout) -> Result<Outcome, Fault> {
        Err(Fault::unsupported("payout"))
    }

    /// Queries the outcome of an attempt.
    ///
    /// ```
    /// use switchyard_gateway::{Amount, Context, Fault, Gateway, Outcome, Query};
    ///
    /// # #[derive(Default)]
    /// # struct Acme;
    /// impl Gateway for Acme {
    ///     async fn query(&self, cx: &Context, ask: Query) -> Result<Outcome, Fault> {
    ///         let url = format!("https://api.acme.example/orders/{}", ask.reference);
    ///         let answer = cx.get(url).send().await?;
    ///         if answer.status == 404 {
    ///             return Ok(Outcome::NotFound { why: "Acme has no such order".into() });
    ///         }
    ///         let order: serde_json::Value = answer.json()?;
    ///         Ok(match (order["state"].as_str(), order["paid_minor"].as_i64()) {
    ///             (Some("paid"), Some(minor)) => {
    ///                 Outcome::succeeded(Amount::minor(minor, ask.amount.currency))
    ///             }
    ///             (Some("open"), _) => Outcome::pending(),
    ///             _ => Outcome::unknown("Acme has a state that is not known"),
    ///         })
    ///     }
    /// }
    /// ```
    async fn query(&self, _cx: &Context, _ask: Query) -> Result<Outcome, Fault> {
        Err(Fault::unsupported("query"))
    }

    /// Pass on a code that the payer typed.
    ///
    /// ```
    /// use switchyard_gateway::{Context, Fault, Gateway, Outcome, PayerAction, SubmitInput, Texts};
    ///
    /// # #[derive(Default)]
    /// # struct Acme;
    /// impl Gateway for Acme {
    ///     async fn submit_input(&self, cx: &Context, ask: SubmitInput) -> Result<Outcome, Fault> {
    ///         let url = format!("https://api.acme.example/orders/{}/code", ask.reference);
    ///         let code = serde_json::json!({ "code": ask.input.get("code") });
    ///         let answer = cx.post(url).json(&code).send().await?;
    ///         if answer.status != 422 {
    ///             return Ok(Outcome::pending());
    ///         }
    ///         let wrong = ("en".to_owned(), "This code is wrong. Try again.".to_owned());
    ///         Ok(Outcome::awaiting(PayerAction::EnterCode {
    ///             label: "Code".into(),
    ///             length: Some(6),
    ///             how: Texts::from([wrong]),
    ///         }))
    ///     }
    /// }
    /// ```
    async fn submit_input(&self, _cx: &Context, _ask: SubmitInput) -> Result<Outcome, Fault> {
        Err(Fault::unsupported("submit_input"))
    }

    /// Call an attempt off.
    ///
    /// ```
    /// use switchyard_gateway::{Cancel, Context, DeclineReason, Fault, Gateway, Outcome};
    ///
    /// # #[derive(Default)]
    /// # struct Acme;
    /// impl Gateway for Acme {
    ///     async fn cancel(&self, cx: &Context, ask: Cancel) -> Result<Outcome, Fault> {
    ///         let url = format!("https://api.acme.example/orders/{}", ask.reference);
    ///         let answer = cx.http("DELETE", url).send().await?;
    ///         Ok(match answer.status {
    ///             // Acme promises that a deleted order is never charged.
    ///             204 => Outcome::declined(DeclineReason::PayerDeclined, "Cancelled at Acme"),
    ///             _ => Outcome::pending(),
    ///         })
    ///     }
    /// }
    /// ```
    async fn cancel(&self, _cx: &Context, _ask: Cancel) -> Result<Outcome, Fault> {
        Err(Fault::unsupported("cancel"))
    }

    /// Give money back.
    ///
    /// ```
    /// use switchyard_gateway::{Context, Fault, Gateway, Outcome, Refund};
    ///
    /// # #[derive(Default)]
    /// # struct Acme;
    /// impl Gateway for Acme {
    ///     async fn refund(&self, cx: &Context, ask: Refund) -> Result<Outcome, Fault> {
    ///         let refund = serde_json::json!({
    ///             "id": ask.reference, "order": ask.of, "amount": ask.amount.minor,
    ///         });
    ///         let request = cx.post("https://api.acme.example/refunds").json(&refund);
    ///         Ok(match request.send().await?.status {
    ///             202 => Outcome::pending(),
    ///             other => Outcome::unknown(format!("Acme answered {other}")),
    ///         })
    ///     }
    /// }
    /// ```
    async fn refund(&self, _cx: &Context, _ask: Refund) -> Result<Outcome, Fault> {
        Err(Fault::unsupported("refund"))
    }

    /// Values of a field that names a source of options (`options_from`). The engine keeps the list
    /// for a while.
    ///
    /// ```
    /// use switchyard_gateway::{Context, Fault, Gateway, OptionList, Options};
    ///
    /// # #[derive(Default)]
    /// # struct Acme;
    /// impl Gateway for Acme {
    ///     async fn options(&self, cx: &Context, ask: Options) -> Result<OptionList, Fault> {
    ///         let url = format!("https://api.acme.example/banks?currency={}", ask.unit.currency);
    ///         // [["058", "GTBank"], …]
    ///         let banks: Vec<(String, String)> = cx.get(url).send().await?.json()?;
    ///         Ok(OptionList::named(banks))
    ///     }
    /// }
    /// ```
    async fn options(&self, _cx: &Context, _ask: Options) -> Result<OptionList, Fault> {
        Err(Fault::unsupported("options"))
    }

    /// One page of the provider's own list of payments or payouts, by the time of their creation.
    /// After a restore from a backup the engine compares it with its store.
    ///
    /// ```
    /// use switchyard_gateway::{Context, Fault, Gateway, List, TransactionPage};
    /// # use switchyard_gateway::{ListedState, ListedTransaction};
    /// # #[derive(serde::Deserialize)]
    /// # struct Order {
    /// #     reference: String,
    /// #     created_at: String,
    /// # }
    /// # fn listed(open: Order) -> ListedTransaction {
    /// #     ListedTransaction {
    /// #         reference: Some(open.reference),
    /// #         provider_id: None,
    /// #         amount: None,
    /// #         created_at: open.created_at,
    /// #         state: ListedState::Pending,
    /// #     }
    /// # }
    ///
    /// # #[derive(Default)]
    /// # struct Acme;
    /// impl Gateway for Acme {
    ///     async fn list(&self, cx: &Context, ask: List) -> Result<TransactionPage, Fault> {
    ///         let (from, until) = ask.span()?;
    ///         let span = format!("from={}&until={}", from.unix_seconds(), until.unix_seconds());
    ///         let page: u32 = match &ask.cursor {
    ///             Some(cursor) => cursor.parse().map_err(|_| Fault::provider("no page"))?,
    ///             None => 1,
    ///         };
    ///         let url = format!("https://api.acme.example/orders?{span}&page={page}");
    ///         let orders: Vec<Order> = cx.get(url).send().await?.json()?;
    ///         let next = (orders.len() == 100).then(|| (page + 1).to_string());
    ///         let transactions = orders.into_iter().map(listed).collect();
    ///         Ok(TransactionPage { transactions, next })
    ///     }
    /// }
    /// ```
    async fn list(&self, _cx: &Context, _ask: List) -> Result<TransactionPage, Fault> {
        Err(Fault::unsupported("list"))
    }

    /// Verify and translate what the provider sent.
    ///
    /// ```
    /// use switchyard_gateway::{Callback, CallbackResult, Context, Fault, Gateway};
    ///
    /// # #[derive(Default)]
    /// # struct Acme;
    /// impl Gateway for Acme {
    ///     async fn callback(&self, _: &Context, news: Callback) -> Result<CallbackResult, Fault> {
    ///         #[derive(serde::Deserialize)]
    ///         struct Event {
    ///             order: Option<String>,
    ///         }
    ///         // Acme signs nothing, so this is a hint: the engine queries the order.
    ///         let event = serde_json::from_slice(&news.body.bytes()?);
    ///         let event: Event = event.map_err(|error| Fault::provider(error.to_string()))?;
    ///         Ok(match event.order {
    ///             Some(id) => CallbackResult::hint().about_provider_id(id),
    ///             None => CallbackResult::nothing(),
    ///         })
    ///     }
    /// }
    /// ```
    async fn callback(&self, _cx: &Context, _news: Callback) -> Result<CallbackResult, Fault> {
        Err(Fault::unsupported("callback"))
    }
}

/// Exports a gateway: the symbol `gateway_plugin_v1`, and the manifest as ELF section `.gateway`.
/// Once a crate. It also makes a test that holds the manifest against the code.
///
/// `gateway!(Acme);` takes the `gateway.json` beside `Cargo.toml`. A second argument names another
/// file, as one that a build script writes.
///
/// ```
/// use switchyard_gateway::{Collect, Context, Fault, Gateway, Outcome, Query, gateway};
///
/// #[derive(Default)]
/// struct Acme;
///
/// impl Gateway for Acme {
///     async fn collect(&self, _: &Context, _: Collect) -> Result<Outcome, Fault> {
///         Ok(Outcome::pending())
///     }
///
///     async fn query(&self, _: &Context, _: Query) -> Result<Outcome, Fault> {
///         Ok(Outcome::pending())
///     }
/// }
///
/// gateway!(Acme, concat!(env!("CARGO_MANIFEST_DIR"), "/tests/acme.json"));
///
/// switchyard_gateway::testing::check_manifest::<Acme>();
/// ```
#[macro_export]
macro_rules! gateway {
    ($gateway:ident) => {
        $crate::gateway!($gateway, concat!(env!("CARGO_MANIFEST_DIR"), "/gateway.json"));
    };
    ($gateway:ident, $manifest:expr) => {
        #[cfg(panic = "abort")]
        compile_error!(
            "a gateway is built with panic = \"unwind\": remove `panic = \"abort\"` from the profile, or a panic would end the engine"
        );

        const _: () = {
            const LENGTH: usize = include_bytes!($manifest).len();

            #[used]
            #[unsafe(link_section = ".gateway")]
            static MANIFEST: [u8; LENGTH] = *include_bytes!($manifest);

            impl $crate::runtime::Entry for $gateway {
                fn manifest() -> &'static [u8] {
                    &MANIFEST
                }

                fn start(
                    cx: $crate::Context,
                    operation: $crate::Operation,
                    input: $crate::runtime::Input,
                ) -> $crate::runtime::Answering {
                    use $crate::Gateway as _;
                    use $crate::runtime::{Answer, input as read};
                    Box::pin(async move {
                        let gateway = <$gateway as ::core::default::Default>::default();
                        match operation {
                            $crate::Operation::CheckConfig => {
                                gateway.check_config(&cx).await.map(Answer::from)
                            }
                            $crate::Operation::Collect => gateway
                                .collect(&cx, read(operation, input)?)
                                .await
                                .map(Answer::from),
                            $crate::Operation::Payout => gateway
                                .payout(&cx, read(operation, input)?)
                                .await
                                .map(Answer::from),
                            $crate::Operation::Query => gateway
                                .query(&cx, read(operation, input)?)
                                .await
                                .map(Answer::from),
                            $crate::Operation::SubmitInput => gateway
                                .submit_input(&cx, read(operation, input)?)
                                .await
                                .map(Answer::from),
                            $crate::Operation::Cancel => gateway
                                .cancel(&cx, read(operation, input)?)
                                .await
                                .map(Answer::from),
                            $crate::Operation::Refund => gateway
                                .refund(&cx, read(operation, input)?)
                                .await
                                .map(Answer::from),
                            $crate::Operation::Callback => gateway
                                .callback(&cx, read(operation, input)?)
                                .await
                                .map(Answer::from),
                            $crate::Operation::Options => gateway
                                .options(&cx, read(operation, input)?)
                                .await
                                .map(Answer::from),
                            $crate::Operation::List => gateway
                                .list(&cx, read(operation, input)?)
                                .await
                                .map(Answer::from),
                        }
                    })
                }
            }

            #[unsafe(no_mangle)]
            pub static gateway_plugin_v1: $crate::abi::Plugin = $crate::abi::Plugin {
                abi_major: $crate::abi::ABI_MAJOR,
                // A structure of four words.
                size: ::core::mem::size_of::<$crate::abi::Plugin>() as u32,
                begin: $crate::runtime::c_begin::<$gateway>,
                resume: $crate::runtime::c_resume,
                end: $crate::runtime::c_end,
            };
        };

        #[cfg(test)]
        mod gateway_manifest {
            #[test]
            fn the_manifest_lists_exactly_the_operations_that_are_written() {
                $crate::testing::check_manifest::<super::$gateway>();
            }
        }
    };
}
