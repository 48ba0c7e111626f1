//! Manual orders of an operator. Each names its author and is on the transaction's timeline.

use std::sync::Arc;

use super::{Engine, EngineError};
use crate::processing::{CommandWithRows, preview};
use switchyard_core::ids::{AttemptId, CaseId, TransactionId};
use switchyard_core::transaction::{
    Action, ByOperator, Command, EventName, Operator, OperatorCommand, Refusal, Resolution, State,
    Transaction,
};
use switchyard_records::{self as records, CaseFound, CaseQuery, CasesFound};
use switchyard_store::Batch;

/// Result of a manual query.
#[derive(Clone, Debug)]
pub struct QueryReport {
    pub transaction: Arc<Transaction>,
    /// The provider was asked. Not when it was asked a moment ago.
    pub asked: bool,
    /// Whether the gateway returned in time.
    pub answered: bool,
}

/// Result that a resolution would have now.
#[derive(Clone, Debug)]
pub struct ResolutionPreview {
    /// Attempt that it settles.
    pub attempt: AttemptId,
    pub after: Arc<Transaction>,
    /// Events for the merchant's webhooks.
    pub announced: Vec<EventName>,
    /// Whether the merchant or the customer gets a mail, if the app's settings allow it.
    pub mails: bool,
    /// Gateways at which the next attempt would start.
    pub starts: Vec<String>,
}

impl Engine {
    /// Queries the provider about the open attempt at once, and waits a few seconds for its
    /// response.
    pub async fn check(
        &self,
        id: TransactionId,
        operator: Operator,
    ) -> Result<QueryReport, EngineError> {
        let command = signed(operator, None, OperatorCommand::Check);
        let asked = self.ask(id, command).await?;
        let transaction = self.transaction(id).await?.ok_or(EngineError::NotFound)?;
        Ok(QueryReport {
            transaction,
            asked: asked.is_some(),
            answered: asked == Some(true),
        })
    }

    /// Settles the open attempt by a person's word.
    pub async fn resolve(
        &self,
        id: TransactionId,
        operator: Operator,
        note: String,
        resolution: Resolution,
    ) -> Result<Arc<Transaction>, EngineError> {
        self.resolve_with(id, operator, note, resolution, Batch::new())
            .await
    }

    /// Settles the open attempt by a person's word. `also`: rows of the caller that are committed
    /// with it.
    pub async fn resolve_with(
        &self,
        id: TransactionId,
        operator: Operator,
        note: String,
        resolution: Resolution,
        also: Batch,
    ) -> Result<Arc<Transaction>, EngineError> {
        let command = signed(operator, Some(note), OperatorCommand::Resolve(resolution));
        let order = CommandWithRows::with(command, also);
        self.registry().send_about(self, id, None, order).await
    }

    /// The result that a resolution would have now. Nothing is changed.
    pub fn preview_resolution(
        &self,
        tx: &Arc<Transaction>,
        operator: Operator,
        note: String,
        resolution: Resolution,
    ) -> Result<ResolutionPreview, EngineError> {
        let open = match tx.state {
            State::AwaitingProvider | State::InDoubt => tx.current_attempt(),
            _ => tx.held_attempt(),
        };
        let attempt = resolution.attempt.or(open.map(|attempt| attempt.id));
        let command = signed(operator, Some(note), OperatorCommand::Resolve(resolution));
        let step = preview(self, tx, command)?.ok_or(Refusal::NothingOpen)?;
        let starts = step.begun().map(|begun| begun.candidate.gateway.clone());
        let announced = step.actions.iter().filter_map(|action| match action {
            Action::Announce(name) => Some(*name),
            _ => None,
        });
        let is_mail = |action: &Action| matches!(action, Action::Mail(_));
        Ok(ResolutionPreview {
            attempt: attempt.ok_or(Refusal::NothingOpen)?,
            announced: announced.collect(),
            mails: step.actions.iter().any(is_mail),
            starts: starts.collect(),
            after: step.after,
        })
    }

    /// Cancels a payment, or asks its provider to.
    pub async fn cancel_by_hand(
        &self,
        id: TransactionId,
        operator: Operator,
        note: Option<String>,
    ) -> Result<Arc<Transaction>, EngineError> {
        let command = signed(operator, note, OperatorCommand::Cancel);
        self.cancel_with(id, command).await
    }

    /// Closes a case.
    pub async fn close_case(
        &self,
        id: CaseId,
        operator: Operator,
        note: String,
    ) -> Result<CaseFound, EngineError> {
        let found = self.case(id).await?.ok_or(EngineError::NotFound)?;
        let command = signed(operator, Some(note), OperatorCommand::CloseCase(id));
        self.send_about_case(&found, command.into()).await
    }

    /// Closes a case as the caller has read it. `also`: rows of the caller that are committed with
    /// it.
    ///
    /// # Errors
    /// [`EngineError::Changed`] when its transaction has gone on since.
    pub async fn close_seen_case(
        &self,
        found: &CaseFound,
        operator: Operator,
        note: String,
        also: Batch,
    ) -> Result<CaseFound, EngineError> {
        let order = OperatorCommand::CloseCase(found.case.id);
        let order = CommandWithRows::with(signed(operator, Some(note), order), also);
        let order = order.expecting(found.transaction.version);
        self.send_about_case(found, order).await
    }

    async fn send_about_case(
        &self,
        found: &CaseFound,
        order: CommandWithRows,
    ) -> Result<CaseFound, EngineError> {
        let about = found.transaction.id;
        let transaction = self.registry().send_about(self, about, None, order).await?;
        CaseFound::of(found.case.id, transaction).ok_or(EngineError::NotFound)
    }

    /// A case with its transaction.
    pub async fn case(&self, id: CaseId) -> Result<Option<CaseFound>, EngineError> {
        Ok(records::case(self.store(), id).await?)
    }

    /// Cases, newest first.
    pub async fn cases(&self, query: &CaseQuery) -> Result<CasesFound, EngineError> {
        Ok(records::cases(self.store(), query).await?)
    }
}

fn signed(operator: Operator, note: Option<String>, order: OperatorCommand) -> Command {
    Command::ByOperator(Box::new(ByOperator {
        operator,
        note,
        order,
    }))
}
