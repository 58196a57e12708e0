-- How far long walks through somebody else's records have come: whoever goes on begins there.
create table cursors (
    walk text not null,
    position text not null,
    constraint cursors_pkey primary key (walk)
);
