drop procedure open_door(text, text);
drop procedure keep_apart(text);
