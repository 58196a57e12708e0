drop table organizations;
