drop table cursors;
