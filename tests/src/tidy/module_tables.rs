//! Declared dependencies between the modules of each crate.

/// Module, and the modules that it may use.
pub(super) type Uses = (&'static str, &'static [&'static str]);

/// Modules of `engine/core/src`, each with the modules that it may use.
pub(super) const CORE: &[Uses] = &[
    ("charge", &["language", "money", "transaction"]),
    ("client_network", &[]),
    ("colour", &[]),
    ("directory", &["language", "money", "transaction"]),
    ("email", &[]),
    ("environment", &[]),
    ("ids", &["word"]),
    ("journal", &["limits", "time"]),
    ("language", &["time"]),
    ("limits", &[]),
    ("money", &["language", "limits", "word"]),
    (
        "routing",
        &["ids", "limits", "money", "time", "transaction"],
    ),
    ("secret", &[]),
    ("testing", &[]),
    ("time", &[]),
    (
        "transaction",
        &["environment", "ids", "limits", "money", "secret", "time"],
    ),
    ("word", &[]),
];

/// Modules of `engine/system/src`, each with the modules that it may use.
pub(super) const SYSTEM: &[Uses] = &[
    ("clock", &[]),
    ("descriptors", &[]),
    ("dumps", &[]),
    ("egress", &["simulation"]),
    ("ids", &[]),
    ("resources", &[]),
    ("secrets", &["ids"]),
    ("simulation", &[]),
];

/// Modules of `engine/users/src`, each with the modules that it may use.
pub(super) const USERS: &[Uses] = &[
    ("approval", &["role"]),
    (
        "approvals",
        &[
            "approval",
            "authorize",
            "error",
            "role",
            "rows",
            "user",
            "users",
        ],
    ),
    ("audit", &["error"]),
    (
        "authorize",
        &[
            "audit", "refusal", "role", "rows", "session", "token", "user", "users",
        ],
    ),
    (
        "change",
        &[
            "audit", "error", "link", "role", "rows", "token", "user", "users",
        ],
    ),
    ("error", &["password", "refusal"]),
    (
        "invite",
        &[
            "audit",
            "authorize",
            "error",
            "link",
            "password",
            "role",
            "rows",
            "team",
            "user",
            "users",
        ],
    ),
    ("link", &["role", "user"]),
    ("log", &["audit", "error", "users"]),
    ("password", &[]),
    ("pending", &[]),
    ("refusal", &["role"]),
    (
        "reset",
        &[
            "audit",
            "authorize",
            "error",
            "link",
            "password",
            "pending",
            "refusal",
            "rows",
            "sign_in",
            "user",
            "users",
        ],
    ),
    ("role", &[]),
    ("rows", &["error"]),
    (
        "second_factor",
        &[
            "audit",
            "authorize",
            "error",
            "pending",
            "session",
            "totp",
            "user",
            "users",
        ],
    ),
    ("session", &[]),
    ("set", &["approval", "link", "session", "token", "user"]),
    (
        "sign_in",
        &[
            "audit",
            "authorize",
            "error",
            "pending",
            "refusal",
            "rows",
            "session",
            "throttle",
            "totp",
            "user",
            "users",
        ],
    ),
    (
        "team",
        &["authorize", "error", "refusal", "role", "user", "users"],
    ),
    ("throttle", &["user"]),
    ("token", &["role"]),
    ("totp", &[]),
    ("user", &["error", "password", "role", "totp"]),
    (
        "user_tokens",
        &[
            "audit",
            "authorize",
            "error",
            "refusal",
            "role",
            "rows",
            "token",
            "user",
            "users",
        ],
    ),
    (
        "users",
        &[
            "approval", "audit", "error", "link", "password", "pending", "rows", "session", "set",
            "throttle", "token", "user",
        ],
    ),
];

/// Modules of `engine/src`, each with the modules that it may use.
pub(super) const ENGINE: &[Uses] = &[
    ("access", &["quota"]),
    ("callback", &["access", "queue"]),
    (
        "engine",
        &[
            "access",
            "callback",
            "exchange_rates",
            "hold",
            "idempotency",
            "mail",
            "processing",
            "queue",
            "quota",
            "runtime",
            "webhook",
        ],
    ),
    ("exchange_rates", &[]),
    (
        "fuzzing",
        &[
            "access",
            "callback",
            "exchange_rates",
            "idempotency",
            "mail",
            "webhook",
        ],
    ),
    ("hold", &[]),
    ("idempotency", &["access"]),
    ("mail", &["access", "queue"]),
    (
        "processing",
        &[
            "callback",
            "idempotency",
            "mail",
            "queue",
            "runtime",
            "webhook",
        ],
    ),
    ("queue", &["runtime"]),
    ("quota", &[]),
    ("runtime", &[]),
    ("testing", &[]),
    ("webhook", &["access", "queue"]),
];

/// Modules of `api/src`, each with the modules that it may use.
pub(super) const API: &[Uses] = &[
    ("bearer", &[]),
    ("callbacks", &["client", "error", "operations", "state"]),
    (
        "checkout",
        &[
            "client",
            "operations",
            "pages",
            "return_url",
            "state",
            "utils",
        ],
    ),
    (
        "cli",
        &["config", "error", "iso_timestamp", "operator", "serve"],
    ),
    ("client", &["state"]),
    ("config", &[]),
    (
        "console",
        &["client", "frame", "operator", "pages", "state"],
    ),
    ("docs", &["error", "frame", "openapi", "operator", "state"]),
    ("envelope", &["error"]),
    ("error", &[]),
    ("frame", &["error", "operations", "pages", "state"]),
    (
        "fuzzing",
        &[
            "client",
            "config",
            "merchant",
            "operations",
            "serve",
            "state",
        ],
    ),
    ("geoip", &[]),
    ("iso_timestamp", &[]),
    (
        "merchant",
        &[
            "bearer",
            "client",
            "envelope",
            "error",
            "frame",
            "iso_timestamp",
            "openapi",
            "operations",
            "return_url",
            "state",
            "without_key",
        ],
    ),
    ("openapi", &["envelope", "error"]),
    ("operations", &["bearer", "config"]),
    (
        "operator",
        &[
            "bearer",
            "client",
            "config",
            "envelope",
            "error",
            "iso_timestamp",
            "merchant",
            "openapi",
            "operations",
            "state",
        ],
    ),
    ("pages", &[]),
    ("return_url", &[]),
    (
        "routes",
        &[
            "docs", "frame", "merchant", "openapi", "slashes", "state", "utils",
        ],
    ),
    (
        "serve",
        &[
            "callbacks",
            "checkout",
            "config",
            "console",
            "docs",
            "error",
            "geoip",
            "operations",
            "operator",
            "routes",
            "state",
            "utils",
            "without_key",
        ],
    ),
    ("slashes", &["error", "frame"]),
    ("state", &["geoip", "operations"]),
    (
        "utils",
        &["envelope", "frame", "merchant", "openapi", "state"],
    ),
    ("without_key", &["client", "error", "state"]),
];

/// Dependency that closes a cycle, with the reason why it remains: crate, module, used module,
/// reason. Remove entries; add none.
pub(super) const EXCEPTIONS: &[(&str, &str, &str, &str)] = &[
    (
        "engine",
        "callback",
        "engine",
        "callbacks receive the whole engine instead of their own dependencies",
    ),
    (
        "engine",
        "callback",
        "processing",
        "a hint about an ended attempt queries the provider",
    ),
    (
        "engine",
        "processing",
        "engine",
        "actors and gateway calls receive the whole engine",
    ),
    (
        "api",
        "frame",
        "checkout",
        "the outermost layer chooses between a page and JSON",
    ),
    (
        "api",
        "frame",
        "merchant",
        "the outermost layer adds the CORS headers of one route",
    ),
    (
        "api",
        "state",
        "utils",
        "the shared state holds the cache of the method icons",
    ),
    (
        "api",
        "without_key",
        "checkout",
        "the rate limit answers browsers with a page",
    ),
];
