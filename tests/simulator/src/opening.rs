//! The beginning of a life: the setting, and how far everybody is.

use std::sync::{Arc, Mutex};

use lessor_domain::checkout::Lifecycle;

use crate::actors::{Order, Wish};
use crate::executor::{Executor, Process};
use crate::life::{Life, Person};
use crate::post::Post;
use crate::stage::{Stage, Trouble};
use crate::version::Version;
use crate::world::{Crew, Shop};

impl Life {
    pub(crate) fn begin(shop: &Shop, stage: Arc<Stage>) -> Self {
        let mut scene = stage.scene();
        let choices = &mut scene.choices;
        let variant = choices.weighted(&[40, 30, 30]);
        let people = 1 + choices.weighted(&[65, 35]);
        let unknown = choices.weighted(&[88, 12]) == 1;
        let term = choices.weighted(&[80, 12, 8]);
        let extras = choices.weighted(&[80, 20]) == 1;
        let start = match choices.weighted(&[45, 15, 20, 20]) {
            0 => Lifecycle::DepositPending,
            1 => Lifecycle::DocumentsPending,
            2 => Lifecycle::OrderConfirmed,
            _ => Lifecycle::LeaseActive,
        };
        let post = match choices.weighted(&[45, 45, 10]) {
            0 => Post::Prompt,
            1 => Post::Uncertain,
            _ => Post::Silent,
        };
        let pick = |of: [u32; 3], at: usize| of.get(at).copied().unwrap_or(0);
        let trouble = Trouble {
            calls: pick([0, 6, 20], choices.weighted(&[30, 45, 25])),
            stores: pick([0, 2, 6], choices.weighted(&[75, 20, 5])),
            interrupts: pick([0, 15, 45], choices.weighted(&[30, 45, 25])),
        };
        let before = Version::before(choices);
        scene.tell(|| {
            let units = ["one unit", "two units", "as many units as anybody wants"];
            let terms = ["3 months", "2 months without a deposit", "1 month"];
            format!(
                "There is {} of the bicycle. It is leased for {}{}; the processor's messages {}.",
                units[variant],
                terms[term],
                if extras {
                    ", a helmet is bought along"
                } else {
                    ""
                },
                match post {
                    Post::Prompt => "come at once",
                    Post::Uncertain => "come as they may",
                    Post::Silent => "never come",
                }
            )
        });
        if let Some(before) = before {
            scene.tell(|| before.describe());
        }
        drop(scene);
        let mut life = Self {
            crew: Crew::new(shop, stage),
            executor: Executor::default(),
            people: Vec::new(),
            letters: Vec::new(),
            wish: Wish {
                customer: if unknown { 2 } else { 0 },
                variant,
                term,
                extras,
            },
            stock: [Some(1), Some(2), None].get(variant).copied().flatten(),
            findings: Vec::new(),
            doubts: Vec::new(),
            post,
            before,
            trouble,
            events: 0,
            steps: 0,
        };
        let asked = std::mem::replace(&mut life.post, Post::Prompt);
        life.crew.stage.scene().muted = true;
        for _ in 0..people {
            life.arrive();
        }
        life.set_out(start);
        life.crew.stage.scene().muted = false;
        life.post = asked;
        for Person { name, checkout, .. } in &life.people {
            let state = life.state(*checkout).unwrap_or(start);
            life.say(|| format!("{name} has ordered the bicycle; the checkout is {state}."));
        }
        life.worry(true);
        life
    }

    /// Everybody goes as far as this where nothing goes wrong.
    fn set_out(&mut self, start: Lifecycle) {
        for Person { name, checkout, .. } in self.people.clone() {
            for _ in 0..6 {
                let state = self.state(checkout);
                let Some(state) = state.filter(|state| {
                    state.percentage() < start.percentage() && !state.is_waitlisted()
                }) else {
                    break;
                };
                let crew = self.crew.clone();
                if state == Lifecycle::OrderConfirmed {
                    let order = Order::Fulfill { tracked: false };
                    self.executor.spawn(
                        Process::Server,
                        name.to_owned(),
                        crew.operate(checkout, order),
                    );
                    self.until_idle();
                    self.work(Process::WorkerOne, true);
                } else {
                    let step = crew.go_on(name.to_owned(), checkout, None);
                    self.executor.spawn(Process::Server, name.to_owned(), step);
                }
                self.until_idle();
            }
        }
    }

    /// Another customer comes, and goes as far as the deposit where nothing can go wrong.
    pub(crate) fn arrive(&mut self) {
        let names = ["Ada", "Grace", "Mary", "Joan"];
        let calm = std::mem::take(&mut self.crew.stage.scene().trouble);
        let customer = self.wish.customer;
        self.wish.customer = (customer + 1) % names.len();
        let name = names[customer];
        let wish = Wish {
            customer,
            ..self.wish
        };
        let made = Arc::new(Mutex::new(None));
        let (crew, put) = (self.crew.clone(), Arc::clone(&made));
        self.executor
            .spawn(Process::Server, name.to_owned(), async move {
                let created = crew.create(wish).await.ok();
                if let Ok(mut made) = put.lock() {
                    *made = created;
                }
            });
        self.until_idle();
        let created = made.lock().ok().and_then(|made| *made);
        if let Some(checkout) = created
            && !self.people.iter().any(|it| it.checkout == checkout)
        {
            self.say(|| format!("{name} orders the bicycle."));
            let acted = self.crew.now();
            self.people.push(Person {
                name,
                checkout,
                acted,
            });
            for _ in 0..8 {
                let state = self.state(checkout);
                if state.is_some_and(|it| it.is_identifying() || it.is_waitlisted())
                    || state == Some(Lifecycle::DepositPending)
                {
                    break;
                }
                let crew = self.crew.clone();
                let step = crew.go_on(name.to_owned(), checkout, None);
                self.executor.spawn(Process::Server, name.to_owned(), step);
                self.until_idle();
            }
        }
        self.crew.stage.scene().trouble = calm;
    }
}
