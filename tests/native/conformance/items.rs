//! Every item of the standards, in our own words.

/// Whom an item concerns, and so how it is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// This service: a test shows it.
    Tested,
    /// This service: a page says it.
    Documented(&'static str),
    /// Whoever calls it: a page says what to do.
    Clients(&'static str),
    /// Whoever sends webhooks. Onceward receives them, and sends none of its own.
    Senders,
}

pub struct Item {
    /// As in the names of tests: `ietf_i_01`.
    pub id: &'static str,
    pub who: Who,
    /// What is asked, in our words.
    pub wants: &'static str,
    /// Where we differ, or what we chose.
    pub note: &'static str,
}

/// A standard, or a part of one.
pub struct Standard {
    /// How the names of its tests begin.
    pub prefix: &'static str,
    pub title: &'static str,
    pub items: &'static [Item],
}

const fn tested(id: &'static str, wants: &'static str, note: &'static str) -> Item {
    Item {
        id,
        who: Who::Tested,
        wants,
        note,
    }
}

const fn documented(id: &'static str, page: &'static str, wants: &'static str) -> Item {
    Item {
        id,
        who: Who::Documented(page),
        wants,
        note: "",
    }
}

const fn clients(id: &'static str, wants: &'static str) -> Item {
    Item {
        id,
        who: Who::Clients("http.md#what-callers-do"),
        wants,
        note: "",
    }
}

const fn senders(id: &'static str, wants: &'static str) -> Item {
    Item {
        id,
        who: Who::Senders,
        wants,
        note: "",
    }
}

const POLICY: &str = "http.md#policies";
const KEYS: &str = "http.md#keys";

const IETF: &[Item] = &[
    tested(
        "ietf_i_01",
        "The field is a Structured Field string with its two escapes.",
        "In strict mode; see 4.",
    ),
    tested(
        "ietf_i_02",
        "Parameters behind the string are read and ignored.",
        "",
    ),
    tested(
        "ietf_i_03",
        "Two fields, a list, a token, a number or bytes are refused.",
        "Two fields and a list in both modes; the rest in strict mode, see 4.",
    ),
    tested(
        "ietf_i_04",
        "A bare value is the same key as the quoted one; an open quote is refused.",
        "Ours: what nearly all clients send. `Prefer: handling=strict` and strict routes refuse bare values.",
    ),
    tested(
        "ietf_i_05",
        "An empty key is refused; length and alphabet are published; the value is never shown.",
        "Ours: 1 to 255 visible ASCII characters, or what the route says.",
    ),
    documented(
        "ietf_i_06",
        KEYS,
        "Keys are unique, and not used again with another request.",
    ),
    documented(
        "ietf_i_07",
        KEYS,
        "Who owns the resource defines uniqueness.",
    ),
    clients("ietf_i_08", "Clients make keys unique."),
    clients(
        "ietf_i_09",
        "A UUID, or something as random, is a good key.",
    ),
    tested(
        "ietf_i_10",
        "What is looked up is made of scope and key, so that easy keys do not meet.",
        "Kind, name and tenant are the scope.",
    ),
    tested(
        "ietf_i_11",
        "A key is checked before anything is looked up, and stands for itself nowhere.",
        "The name of an object is a hash of scope and key.",
    ),
    tested(
        "ietf_i_12",
        "Keys may expire.",
        "7 days after a success, 30 after a failure, unless a function says otherwise.",
    ),
    documented("ietf_i_13", POLICY, "The policy of expiry is published."),
    documented("ietf_i_14", POLICY, "It is part of the documentation."),
    tested(
        "ietf_i_15",
        "The answer says when the key expires, and what it means afterwards is defined.",
        "Ours: `Idempotency-Expires`.",
    ),
    tested(
        "ietf_i_16",
        "A fingerprint may be a checksum of all, or of chosen parts.",
        "Bytes, RFC 8785 JSON, chosen pointers, all but some pointers, off.",
    ),
    tested(
        "ietf_i_17",
        "Method, address and query belong to it.",
        "Ours.",
    ),
    clients("ietf_i_18", "Clients know the published rules."),
    tested("ietf_i_19", "A key where none is expected is ignored.", ""),
    clients("ietf_i_20", "Each request has a key of its own."),
    tested("ietf_i_21", "The key of each request is found.", ""),
    tested("ietf_i_22", "The fingerprint of each request is made.", ""),
    tested("ietf_i_23", "Idempotency is enforced.", ""),
    tested("ietf_i_24", "A first request is processed as ever.", ""),
    tested(
        "ietf_i_25",
        "A finished one is answered as before, success or error.",
        "A failure that a repeat may mend is resumed instead.",
    ),
    tested(
        "ietf_i_26",
        "A running one is a conflict.",
        "We differ: a repeat joins for as long as the first one waits, and is a conflict after that; webhooks get 202.",
    ),
    documented(
        "ietf_i_27",
        POLICY,
        "The resource manages the life of its keys.",
    ),
    tested(
        "ietf_i_28",
        "A missing key is 400 with a problem document that links to documentation.",
        "The `stripe` profile runs it under a key of its own.",
    ),
    tested(
        "ietf_i_29",
        "`Link` with `rel=\"describedby\"` names a page for people.",
        "Two: of the error, and of the route's policy.",
    ),
    tested(
        "ietf_i_30",
        "Another request under the same key is 422.",
        "400 in the `stripe` profile.",
    ),
    tested(
        "ietf_i_31",
        "A running one is 409.",
        "With `Retry-After` and `Location`.",
    ),
    tested(
        "ietf_i_32",
        "Checks come in order: who it is, syntax, fingerprint, in progress, stored answer.",
        "Ours: nothing is learned without the right to ask.",
    ),
    clients(
        "ietf_i_33",
        "A refused request is corrected before it is sent again, but for 409.",
    ),
    documented(
        "ietf_i_34",
        "http.md#answers",
        "Which other errors there are, and which are stored.",
    ),
    tested(
        "ietf_i_35",
        "Pages of other origins may send keys and read the answers' fields.",
        "",
    ),
    documented("ietf_i_36", KEYS, "The field is meant for POST and PATCH."),
];

const WEBHOOKS: &[Item] = &[
    senders(
        "webhooks_w_01",
        "POST with the payload as body, JSON preferred.",
    ),
    senders("webhooks_w_02", "`type`, `timestamp` and `data`."),
    senders("webhooks_w_03", "Small payloads, thin or full."),
    senders("webhooks_w_04", "`type` in groups joined by dots."),
    tested(
        "webhooks_w_05",
        "What is signed is id, timestamp and raw body, joined by dots, as received.",
        "",
    ),
    tested(
        "webhooks_w_06",
        "Neither id nor timestamp moves the dots.",
        "",
    ),
    tested(
        "webhooks_w_07",
        "The id stays over all attempts; the timestamp is the attempt's.",
        "",
    ),
    tested(
        "webhooks_w_08",
        "Symmetric: HMAC-SHA256, `whsec_` and base64, id `v1`.",
        "",
    ),
    tested(
        "webhooks_w_09",
        "Asymmetric: ed25519, `whpk_`, id `v1a`.",
        "",
    ),
    tested(
        "webhooks_w_10",
        "A key for each endpoint.",
        "Each source names its own secrets.",
    ),
    tested(
        "webhooks_w_11",
        "Keys rotate with several signatures at once.",
        "",
    ),
    tested("webhooks_w_12", "`webhook-id`.", ""),
    tested("webhooks_w_13", "`webhook-timestamp`, whole seconds.", ""),
    tested(
        "webhooks_w_14",
        "`webhook-signature`, a list of version and base64.",
        "`svix-*` as well, in the `svix` pack.",
    ),
    tested(
        "webhooks_w_15",
        "Each listed signature is tried with each key; unknown versions are skipped; one success suffices.",
        "",
    ),
    tested(
        "webhooks_w_16",
        "Comparison in constant time.",
        "By the `hmac`, `subtle` and `ed25519-dalek` crates; a test can only show that no prefix is enough.",
    ),
    tested(
        "webhooks_w_17",
        "Keys come from the configuration, never from the request.",
        "",
    ),
    tested(
        "webhooks_w_18",
        "With a public key alone, `v1` entries are not tried.",
        "",
    ),
    tested(
        "webhooks_w_19",
        "The timestamp is within five minutes both ways; no integer is refused.",
        "",
    ),
    tested("webhooks_w_20", "`webhook-id` is the idempotency key.", ""),
    tested(
        "webhooks_w_21",
        "Edge cases: empty secret, missing fields, cut signature, empty body, secrets with and without prefix.",
        "",
    ),
    senders(
        "webhooks_w_22",
        "2xx is success; 3xx is not followed; 410 disables; 429, 502 and 504 slow down.",
    ),
    senders("webhooks_w_23", "A timeout of 15 to 30 s."),
    senders("webhooks_w_24", "Retries over days, with growing pauses."),
    senders("webhooks_w_25", "A long failure is told another way."),
    senders("webhooks_w_26", "HTTPS."),
    senders("webhooks_w_27", "Static source addresses."),
    senders("webhooks_w_28", "No requests to private addresses."),
    senders("webhooks_w_29", "Several endpoints for one consumer."),
    senders("webhooks_w_30", "Failures can be seen and sent again."),
    senders("webhooks_w_31", "An API for endpoints."),
    senders("webhooks_w_32", "A filter of event types."),
    senders(
        "webhooks_w_33",
        "Fields beside older ones while both are in use.",
    ),
];

const PREFER: &[Item] = &[
    tested(
        "prefer_p_01",
        "Names in any case; values and parameters are optional; an empty value is none.",
        "",
    ),
    tested("prefer_p_02", "Several fields are one list.", ""),
    tested(
        "prefer_p_03",
        "Of two equal preferences the first counts.",
        "",
    ),
    tested("prefer_p_04", "Unknown ones are ignored.", ""),
    tested(
        "prefer_p_05",
        "`respond-async`: 202 with `Location` once the request is stored.",
        "",
    ),
    tested(
        "prefer_p_06",
        "`wait=N`: seconds from receipt, the client's upper bound; what is no number is ignored.",
        "Also on `GET /v1/tasks/{id}`.",
    ),
    tested(
        "prefer_p_07",
        "Both: the answer if it comes within the wait, else 202.",
        "",
    ),
    tested(
        "prefer_p_08",
        "`wait` alone, and it is over: the server's choice.",
        "202 for the first request and for webhooks, 409 for a repeated call.",
    ),
    tested(
        "prefer_p_09",
        "`return` and `handling`: of each both values at once are as if neither were there.",
        "`return` cuts task documents only; `handling=strict` asks for a quoted key.",
    ),
    tested(
        "prefer_p_10",
        "`Preference-Applied` lists what was honoured.",
        "",
    ),
    tested(
        "prefer_p_11",
        "What may be stored and depends on it says `Vary: Prefer`.",
        "`GET /v1/tasks/{id}`; everything else is `no-store`.",
    ),
    documented(
        "prefer_p_12",
        "http.md#preferences",
        "The longest wait, and the wait without a preference.",
    ),
    documented(
        "prefer_p_13",
        "http.md#preferences",
        "A preference is no part of the fingerprint.",
    ),
];

const PROBLEM: &[Item] = &[
    tested(
        "problem_d_01",
        "An object, sent as `application/problem+json`.",
        "",
    ),
    tested(
        "problem_d_02",
        "`type` is a URI reference that leads to a page.",
        "Relative, so that it holds at every host of a deployment.",
    ),
    tested("problem_d_03", "`title` is the same for each type.", ""),
    tested("problem_d_04", "`status` is that of the answer.", ""),
    tested("problem_d_05", "`detail` helps to correct the request.", ""),
    tested(
        "problem_d_06",
        "`instance` names this occurrence.",
        "The same 401 for everybody has none.",
    ),
    tested(
        "problem_d_07",
        "Members of our own have names of letters, digits and `_`.",
        "",
    ),
    tested(
        "problem_d_08",
        "One type for each answer; several causes in `errors`.",
        "",
    ),
    tested(
        "problem_d_09",
        "Sent whatever `Accept` says, with `Content-Language`.",
        "English only.",
    ),
    tested("problem_d_10", "Nothing internal or secret is in it.", ""),
    tested(
        "problem_d_11",
        "All types are listed with cause, fix, and whether to send again.",
        "None is registered with IANA.",
    ),
    tested(
        "problem_d_12",
        "There is a type for each kind of failure.",
        "All failures of a signature are one 401: whoever guesses learns nothing.",
    ),
];

const HTTP: &[Item] = &[
    tested(
        "http_h_01",
        "`Retry-After` on 503, 429, 409 and 202; both forms are read from others, and capped.",
        "",
    ),
    tested("http_h_02", "202 says how it stands and where to look.", ""),
    tested(
        "http_h_03",
        "A finished task is 200 at its address.",
        "The function's own answer comes with the key.",
    ),
    tested(
        "http_h_04",
        "`ETag` and `If-None-Match` on the task.",
        "With a wait, the first change ends it.",
    ),
    tested(
        "http_h_05",
        "405 with `Allow`, 413, 415 with `Accept-Post`, 431.",
        "A form is taken for JSON if it is JSON, since that is what `curl -d` says.",
    ),
    tested("http_h_06", "HEAD and OPTIONS change nothing.", ""),
    tested(
        "http_h_07",
        "Hop-by-hop fields and credentials are neither stored nor replayed.",
        "`Set-Cookie` is among them.",
    ),
    tested(
        "http_h_08",
        "`Idempotent-Replayed` and `Idempotency-Expires`.",
        "",
    ),
];

const PROFILES: &[Item] = &[
    tested(
        "profile_stripe",
        "A key is optional; another request is 400, a running one 409; every answer is kept.",
        "Codes stay ours.",
    ),
    tested(
        "profile_acp",
        "A key is required and comes back; 422 and 409 with `Retry-After`; kept for 24 hours at least.",
        "Codes stay ours. A conflict comes after joining.",
    ),
    tested(
        "profile_settings",
        "Each setting can be changed alone, such as the pattern of AdCP's keys.",
        "",
    ),
];

pub const STANDARDS: &[Standard] = &[
    Standard {
        prefix: "ietf_i_",
        title: "draft-ietf-httpapi-idempotency-key-header-07",
        items: IETF,
    },
    Standard {
        prefix: "profile_",
        title: "Neighbouring contracts: Stripe, Agentic Commerce Protocol, AdCP",
        items: PROFILES,
    },
    Standard {
        prefix: "webhooks_w_",
        title: "Standard Webhooks 1.0.0",
        items: WEBHOOKS,
    },
    Standard {
        prefix: "prefer_p_",
        title: "RFC 7240, `Prefer`",
        items: PREFER,
    },
    Standard {
        prefix: "problem_d_",
        title: "RFC 9457, problem documents",
        items: PROBLEM,
    },
    Standard {
        prefix: "http_h_",
        title: "RFC 9110 in parts",
        items: HTTP,
    },
];
