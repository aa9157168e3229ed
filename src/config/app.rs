//! Functions and sources put together and checked.

use super::{
    Bundled, ConfigProblem, Endpoints, Flows, Gateway, Named, Source, declared, gateway,
    is_route_name, tokens,
};
use crate::function::flow::{FLOW, PREFIX};
use crate::http::auth::Tokens;
use serde_json::Value;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Collects functions and sources. Nothing is checked before [`Builder::build`].
#[derive(Debug)]
pub struct Builder<F> {
    functions: Vec<F>,
    sources: Vec<Source>,
    /// Each with the function that sends its requests on.
    gateways: Vec<(Gateway, F)>,
    /// Those that this crate brings.
    own: Vec<F>,
    /// Texts of flows.
    flows: Vec<String>,
    tokens: Tokens,
    problems: Vec<ConfigProblem>,
}

impl<F> Default for Builder<F> {
    fn default() -> Self {
        Self {
            functions: Vec::new(),
            sources: Vec::new(),
            gateways: Vec::new(),
            own: Vec::new(),
            flows: Vec::new(),
            tokens: Tokens::default(),
            problems: Vec::new(),
        }
    }
}

impl<F: Named> Builder<F> {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a function.
    #[must_use]
    pub fn function(mut self, function: F) -> Self {
        self.functions.push(function);
        self
    }

    /// Adds a source.
    #[must_use]
    pub fn source(mut self, source: Source) -> Self {
        self.sources.push(source);
        self
    }

    /// Adds a gateway to an existing API.
    #[must_use]
    pub fn gateway(mut self, gateway: Gateway) -> Self
    where
        F: From<Gateway>,
    {
        let function = F::from(gateway.clone());
        self.gateways.push((gateway, function));
        self
    }

    /// Adds the sources that the deployment declares in a variable, without Rust: a JSON object of sources by
    /// name, or a text that holds one. `None`: there is no such variable. `docs/sources.md` describes them.
    ///
    /// ```
    /// use onceward::config::Builder;
    /// use onceward::function::{Ctx, Function};
    /// use onceward::types::Failure;
    /// async fn paid(_: Ctx, event: serde_json::Value) -> Result<(), Failure> { Ok(()) }
    /// let declared = serde_json::json!({
    ///     "payments": { "pack": "standard-webhooks", "secrets": ["PAYMENTS_SECRET"], "runs": "paid" },
    /// });
    /// let app = Builder::new()
    ///     .function(Function::new("paid", paid))
    ///     .declared(Some(&declared))
    ///     .build()
    ///     .unwrap();
    /// assert!(app.source("payments").unwrap().scheme().is_signed());
    /// ```
    #[must_use]
    pub fn declared(mut self, sources: Option<&Value>) -> Self {
        if let Some(sources) = sources {
            let (sources, problems) = declared::sources(sources);
            self.sources.extend(sources);
            self.problems.extend(problems);
        }
        self
    }

    /// Adds the gateways that the deployment declares in a variable, without Rust: a JSON object of
    /// gateways by name, as `docs/gateway.md` describes them. `None`: there is no such variable.
    ///
    /// ```
    /// use onceward::config::Builder;
    /// use onceward::function::Function;
    /// let declared = serde_json::json!({ "payments": { "origin": "https://api.example.com/v1" } });
    /// let app = Builder::<Function>::new().declared_gateways(Some(&declared)).build().unwrap();
    /// assert_eq!(app.gateway("payments").unwrap().origin(), "https://api.example.com/v1");
    /// ```
    #[must_use]
    pub fn declared_gateways(mut self, gateways: Option<&Value>) -> Self
    where
        F: From<Gateway>,
    {
        let Some(gateways) = gateways else {
            return self;
        };
        let (gateways, problems) = gateway::declared(gateways);
        self.problems.extend(problems);
        gateways.into_iter().fold(self, Self::gateway)
    }

    /// Adds the endpoints that the deployment declares in a variable, which are told of failed, stuck and
    /// waiting tasks. `None`: there is no such variable. `docs/notifications.md` describes them.
    ///
    /// ```
    /// use onceward::config::Builder;
    /// use onceward::function::{Function, notify::NOTIFY};
    /// let declared = serde_json::json!({
    ///     "ops": { "url": "https://ops.example.com/hook", "secrets": ["OPS_SECRET"] },
    /// });
    /// let app = Builder::<Function>::new().notified(Some(&declared)).build().unwrap();
    /// assert!(app.function(NOTIFY).is_some());
    /// ```
    #[must_use]
    pub fn notified(mut self, endpoints: Option<&Value>) -> Self
    where
        F: From<Endpoints>,
    {
        let (endpoints, problems) = Endpoints::read(endpoints);
        self.problems.extend(problems);
        self.own.push(F::from(endpoints));
        self
    }

    /// Adds a flow, by its text. The function that runs flows (`function::flow::flow`) has to be added as well.
    ///
    /// ```
    /// use onceward::config::Builder;
    /// use onceward::function::flow::flow;
    /// let text = "id: hello\nnamespace: team\ntasks:\n  - {id: hi, type: io.kestra.plugin.core.log.Log, message: hi}\n";
    /// let app = Builder::new().own(flow()).flow(text).build().unwrap();
    /// assert_eq!(app.bundled().next().unwrap().name.to_string(), "team/hello");
    /// assert!(app.function("flow:team/hello").is_some());
    /// ```
    #[must_use]
    pub fn flow(mut self, text: &str) -> Self {
        self.flows.push(text.to_owned());
        self
    }

    /// Adds a function of this crate's own: no address and no source has it.
    #[must_use]
    pub fn own(mut self, function: F) -> Self {
        self.own.push(function);
        self
    }

    /// Sets the API tokens that the deployment declares in a variable: a JSON object of tokens by name, as
    /// `docs/access.md` describes them. `None`: there is no such variable.
    ///
    /// ```
    /// use onceward::config::Builder;
    /// use onceward::function::Function;
    /// let declared = serde_json::json!({ "dashboard": { "sha256": "ab".repeat(32), "scopes": ["read"] } });
    /// let builder = Builder::<Function>::new().declared_tokens(Some(&declared));
    /// assert_eq!(format!("{:?}", builder.build().unwrap().tokens()), "[\"dashboard\"]");
    /// ```
    #[must_use]
    pub fn declared_tokens(mut self, declared: Option<&Value>) -> Self {
        if let Some(declared) = declared {
            let (tokens, problems) = tokens::tokens(declared);
            self.tokens = tokens;
            self.problems.extend(problems);
        }
        self
    }

    /// Checks everything.
    ///
    /// # Errors
    /// Every problem at once, so that one start is enough to see them all.
    pub fn build(self) -> Result<App<F>, Vec<ConfigProblem>> {
        let mut problems = self.problems;
        let mut functions = BTreeMap::new();
        for function in self.functions {
            let name = function.name().to_owned();
            let mut wrong = function.policy().problems();
            wrong.extend(function.rules().problems(function.policy()));
            wrong.extend(function.labels().problems());
            if !is_route_name(&name) {
                wrong.push("its name must match [a-z0-9][a-z0-9_-]{0,63}".to_owned());
            }
            if functions.contains_key(&name) {
                wrong.push("two functions have this name".to_owned());
            }
            problems.extend(at(&format!("function {name}"), wrong));
            functions.entry(name).or_insert(function);
        }
        let mut sources = BTreeMap::new();
        for source in self.sources {
            let name = source.name().to_owned();
            let mut wrong = source.problems();
            wrong.extend(source.labels().problems());
            wrong.extend(fit(&source, &functions));
            if sources.contains_key(&name) {
                wrong.push("two sources have this name".to_owned());
            }
            problems.extend(at(&format!("source {name}"), wrong));
            sources.entry(name).or_insert(source);
        }
        // Last, so that no source runs one of them.
        for function in self.own {
            functions
                .entry(function.name().to_owned())
                .or_insert(function);
        }
        let (flows, wrong) = Flows::read(&self.flows);
        problems.extend(wrong);
        if !self.flows.is_empty() && !functions.contains_key(FLOW) {
            problems.push(ConfigProblem::new(
                "flows",
                "no function runs them: add function::flow::flow() with own()",
            ));
        }
        let mut gateways = BTreeMap::new();
        for (gateway, function) in self.gateways {
            let name = gateway.name().to_owned();
            let mut wrong = gateway.problems();
            if gateways.contains_key(&name) {
                wrong.push("two gateways have this name".to_owned());
            }
            problems.extend(at(&format!("gateway {name}"), wrong));
            functions.entry(gateway.function_name()).or_insert(function);
            gateways.entry(name).or_insert(gateway);
        }
        if problems.is_empty() {
            let functions = Functions {
                functions: Rc::new(functions),
                flows: Rc::new(flows),
            };
            Ok(App {
                functions,
                sources,
                gateways,
                tokens: self.tokens,
            })
        } else {
            Err(problems)
        }
    }
}

fn at(place: &str, problems: Vec<String>) -> impl Iterator<Item = ConfigProblem> {
    problems
        .into_iter()
        .map(move |problem| ConfigProblem::new(place, problem))
}

/// What is wrong between a source and its function.
fn fit<F: Named>(source: &Source, functions: &BTreeMap<String, F>) -> Vec<String> {
    let wanted = source.function();
    let Some(function) = functions.get(wanted) else {
        return if wanted.is_empty() {
            Vec::new()
        } else {
            vec![format!("no function is named {wanted:?}")]
        };
    };
    let together = source.over(function.policy());
    let kept_ms = together
        .retention_succeeded_ms
        .min(together.retention_failed_ms);
    let mut wrong = Vec::new();
    if let Some(window_ms) = source.signed_window_ms().filter(|ms| *ms > kept_ms) {
        wrong.push(format!(
            "dedup_signed_ms of {window_ms} is longer than function {wanted} keeps its tasks ({kept_ms} ms)"
        ));
    }
    let alone = function.policy().problems();
    let new = together.problems().into_iter();
    wrong.extend(
        new.filter(|problem| !alone.contains(problem) && !problem.starts_with("respond_within"))
            .map(|problem| format!("its respond_within does not fit function {wanted}: {problem}")),
    );
    wrong
}

/// All functions, by name, and the flows. Cheap to clone: what runs beside a request takes it along.
#[derive(Debug)]
pub struct Functions<F> {
    functions: Rc<BTreeMap<String, F>>,
    flows: Rc<Flows>,
}

// Derived, it would ask for functions that can be cloned.
impl<F> Clone for Functions<F> {
    fn clone(&self) -> Self {
        Self {
            functions: Rc::clone(&self.functions),
            flows: Rc::clone(&self.flows),
        }
    }
}

impl<F> Functions<F> {
    /// A function by its name. One function runs all flows.
    pub fn get(&self, name: &str) -> Option<&F> {
        let name = if name.starts_with(PREFIX) { FLOW } else { name };
        self.functions.get(name)
    }

    /// The flows of the release.
    pub fn flows(&self) -> &Flows {
        &self.flows
    }
}

/// A checked configuration. Cheap to look things up in; made once per instance.
#[derive(Debug)]
pub struct App<F> {
    functions: Functions<F>,
    sources: BTreeMap<String, Source>,
    gateways: BTreeMap<String, Gateway>,
    tokens: Tokens,
}

impl<F: Named> App<F> {
    /// A function by its name.
    pub fn function(&self, name: &str) -> Option<&F> {
        self.functions.get(name)
    }

    /// All functions, to take along.
    pub fn shared_functions(&self) -> Functions<F> {
        self.functions.clone()
    }

    /// A source by its name.
    pub fn source(&self, name: &str) -> Option<&Source> {
        self.sources.get(name)
    }

    /// A gateway by its name.
    pub fn gateway(&self, name: &str) -> Option<&Gateway> {
        self.gateways.get(name)
    }

    /// The API tokens that are declared; the secret `ONCEWARD_TOKEN` is not among them.
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// All gateways, by name.
    pub fn gateways(&self) -> impl Iterator<Item = &Gateway> {
        self.gateways.values()
    }

    /// All functions, by name; those of gateways (`proxy:…`) among them.
    pub fn functions(&self) -> impl Iterator<Item = &F> {
        self.functions.functions.values()
    }

    /// The flows of the release, and what was heard of others.
    pub fn flows(&self) -> &Flows {
        self.functions.flows()
    }

    /// The flows of the release, by name.
    pub fn bundled(&self) -> impl Iterator<Item = &Bundled> {
        self.functions.flows().bundled()
    }

    /// All sources, by name.
    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        self.sources.values()
    }
}

#[cfg(test)]
#[path = "app_tests.rs"]
mod tests;
