//! Columns of an export.

/// Column of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Id,
    Kind,
    Status,
    Amount,
    Currency,
    Received,
    ReceivedCurrency,
    Fees,
    FeesCurrency,
    Method,
    Country,
    Gateway,
    Connection,
    Reference,
    ProviderId,
    FailureReason,
    Attention,
    Description,
    Metadata,
    CustomerId,
    FirstName,
    LastName,
    Email,
    Phone,
    CreatedAt,
    UpdatedAt,
    EndedAt,
}

impl Column {
    pub const ALL: [Self; 27] = [
        Self::Id,
        Self::Kind,
        Self::Status,
        Self::Amount,
        Self::Currency,
        Self::Received,
        Self::ReceivedCurrency,
        Self::Fees,
        Self::FeesCurrency,
        Self::Method,
        Self::Country,
        Self::Gateway,
        Self::Connection,
        Self::Reference,
        Self::ProviderId,
        Self::FailureReason,
        Self::Attention,
        Self::Description,
        Self::Metadata,
        Self::CustomerId,
        Self::FirstName,
        Self::LastName,
        Self::Email,
        Self::Phone,
        Self::CreatedAt,
        Self::UpdatedAt,
        Self::EndedAt,
    ];

    /// Name in the first line of the file, and in requests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Kind => "kind",
            Self::Status => "status",
            Self::Amount => "amount",
            Self::Currency => "currency",
            Self::Received => "received",
            Self::ReceivedCurrency => "received_currency",
            Self::Fees => "fees",
            Self::FeesCurrency => "fees_currency",
            Self::Method => "method",
            Self::Country => "country",
            Self::Gateway => "gateway",
            Self::Connection => "connection",
            Self::Reference => "reference",
            Self::ProviderId => "provider_id",
            Self::FailureReason => "failure_reason",
            Self::Attention => "attention",
            Self::Description => "description",
            Self::Metadata => "metadata",
            Self::CustomerId => "customer_id",
            Self::FirstName => "first_name",
            Self::LastName => "last_name",
            Self::Email => "email",
            Self::Phone => "phone",
            Self::CreatedAt => "created_at",
            Self::UpdatedAt => "updated_at",
            Self::EndedAt => "ended_at",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|column| column.name() == name)
    }

    /// Whether it has personal data of the customer.
    pub const fn is_personal(self) -> bool {
        matches!(
            self,
            Self::FirstName | Self::LastName | Self::Email | Self::Phone
        )
    }
}
