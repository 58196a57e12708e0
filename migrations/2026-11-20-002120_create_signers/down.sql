drop table signers;
