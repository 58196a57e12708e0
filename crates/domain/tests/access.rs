//! Keys, modes and permissions: what they open, when, and how they are named.

use chrono::TimeDelta;
use lessor_domain::access::{
    Access, Denied, KeyHash, KeyKind, Mode, Permission, Permissions, UnknownName,
};
use lessor_domain::testing::Fixtures;
use proptest::prelude::*;

#[test]
fn modes_and_permissions_are_named_and_read_again() {
    let names: Vec<&str> = Mode::ALL.iter().map(|mode| mode.as_str()).collect();
    assert_eq!(names, ["live", "sandbox"]);
    for mode in Mode::ALL {
        assert_eq!(mode.to_string(), mode.as_str());
        assert_eq!(mode.as_str().parse(), Ok(mode));
    }
    assert_eq!(
        "Live".parse::<Mode>(),
        Err(UnknownName {
            allowed: "live, sandbox".to_owned()
        })
    );
    assert_eq!(Permission::CheckoutFulfill.as_str(), "CheckoutFulfill");
    for permission in Permission::ALL {
        assert_eq!(permission.to_string(), permission.as_str());
        assert_eq!(permission.as_str().parse(), Ok(*permission));
    }
    let unknown = "productRead".parse::<Permission>().unwrap_err().to_string();
    for permission in Permission::ALL {
        assert!(unknown.contains(permission.as_str()), "{unknown}");
    }
}

#[test]
fn a_set_opens_what_is_in_it_and_nothing_else() {
    for one in Permission::ALL {
        let set: Permissions = [*one, *one].into_iter().collect();
        for other in Permission::ALL {
            assert_eq!(set.contains(*other), one == other, "{one} and {other}");
        }
        assert_eq!(set.iter().collect::<Vec<_>>(), [*one]);
    }
    assert_eq!(Permissions::default().iter().count(), 0);
    assert_eq!(
        Permissions::all().iter().collect::<Vec<_>>(),
        Permission::ALL
    );
    assert_eq!(" all ".parse(), Ok(Permissions::all()));
}

/// A sandbox key of an organization whose sandbox keys write its catalog.
fn access(permissions: &[Permission], kind: KeyKind) -> Access {
    let make = Fixtures::default();
    let organization = make.organization().build();
    let user = make.customer(&organization).build();
    let key = make.api_key(&user).build();
    Access {
        key_id: key.id,
        key_name: key.name,
        organization_id: key.organization_id,
        organization_pub_id: organization.pub_id,
        user_id: key.user_id,
        user_pub_id: user.id,
        kind,
        mode: Mode::Sandbox,
        permissions: permissions.iter().copied().collect(),
        sandbox_writes_catalog: true,
    }
}

/// All permissions but this one.
fn all_but(one: Permission) -> Vec<Permission> {
    let all = Permission::ALL.iter().copied();
    all.filter(|other| *other != one).collect()
}

#[test]
fn a_permission_that_is_missing_is_named() {
    for wanted in Permission::ALL {
        let without = all_but(*wanted);
        let has = access(&[*wanted], KeyKind::Secret);
        assert_eq!(has.require(*wanted), Ok(()));
        assert_eq!(has.require_to_look(*wanted), Ok(()));
        let lacks = access(&without, KeyKind::Secret);
        let missing = lacks.require(*wanted);
        assert_eq!(missing, Err(Denied::Permission(*wanted)));
        assert_eq!(lacks.require_to_look(*wanted), missing);
        // A publishable key may look, and may do nothing, whatever anybody gave it.
        let shown = access(&[*wanted], KeyKind::Publishable);
        assert_eq!(shown.require(*wanted), missing);
        assert_eq!(shown.require_to_look(*wanted), Ok(()));
        assert_eq!(
            missing.unwrap_err().to_string(),
            format!("the API key lacks the permission {wanted}")
        );
    }
}

/// The permissions that a sandbox key cannot use where the catalog is the live one's.
const OF_THE_CATALOG: [Permission; 6] = [
    Permission::ProductWrite,
    Permission::ProductDelete,
    Permission::ProductVariantWrite,
    Permission::ProductVariantDelete,
    Permission::LeaseTermWrite,
    Permission::OrganizationWrite,
];

#[test]
fn a_live_catalog_is_written_with_live_keys_alone() {
    for permission in Permission::ALL {
        let is_of_catalog = OF_THE_CATALOG.contains(permission);
        assert_eq!(permission.writes_catalog(), is_of_catalog, "{permission}");
        for mode in Mode::ALL {
            for sandbox_writes_catalog in [true, false] {
                let case = format!("{permission} {mode} {sandbox_writes_catalog}");
                let with = |permissions: &[Permission], kind: KeyKind| Access {
                    mode,
                    sandbox_writes_catalog,
                    ..access(permissions, kind)
                };
                let is_open = !is_of_catalog || mode == Mode::Live || sandbox_writes_catalog;
                let expected = if is_open {
                    Ok(())
                } else {
                    Err(Denied::LiveCatalog)
                };
                let holder = with(&[*permission], KeyKind::Secret);
                assert_eq!(holder.require(*permission), expected, "{case}");
                assert_eq!(holder.require_to_look(*permission), expected, "{case}");
                assert_eq!(holder.require_permission(*permission), Ok(()), "{case}");
                // What is missing is told first: no setting mends that.
                let missing: Result<(), Denied> = Err(Denied::Permission(*permission));
                let lacks = with(&all_but(*permission), KeyKind::Secret);
                assert_eq!(lacks.require(*permission), missing, "{case}");
                assert_eq!(lacks.require_permission(*permission), missing, "{case}");
                let shown = with(&[*permission], KeyKind::Publishable);
                assert_eq!(shown.require(*permission), missing, "{case}");
                assert_eq!(shown.require_permission(*permission), missing, "{case}");
            }
        }
    }
    let told = Denied::LiveCatalog.to_string();
    assert!(told.contains("--sandbox-writes-catalog on"), "{told}");
}

#[test]
fn a_key_opens_until_the_moment_that_it_expires_or_is_revoked() {
    let make = Fixtures::default();
    let user = make.customer(&make.organization().build()).build();
    let key = make.api_key(&user).build();
    let now = make.tick();
    let second = TimeDelta::seconds(1);
    // An end that is past, one that is now, one to come, none.
    let ends = [
        (Some(now - second), false),
        (Some(now), false),
        (Some(now + second), true),
        (None, true),
    ];
    for (expires_at, before_expiry) in ends {
        for (revoked_at, before_revocation) in ends {
            let mut key = key.clone();
            (key.expires_at, key.revoked_at) = (expires_at, revoked_at);
            assert_eq!(
                key.is_valid_at(now),
                before_expiry && before_revocation,
                "{expires_at:?} {revoked_at:?}"
            );
        }
    }
}

#[test]
fn a_hash_is_not_printed() {
    assert_eq!(format!("{:?}", KeyHash([7; 32])), "KeyHash(…)");
}

proptest! {
    #[test]
    fn a_set_is_what_its_names_say(chosen in prop::sample::subsequence(Permission::ALL, 1..=Permission::ALL.len())) {
        let names: Vec<&str> = chosen.iter().map(|permission| permission.as_str()).collect();
        let set: Permissions = names.join(" ,").parse().unwrap();
        prop_assert_eq!(set.iter().collect::<Vec<_>>(), chosen);
    }
}
