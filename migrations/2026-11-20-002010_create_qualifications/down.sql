drop table qualifications;
