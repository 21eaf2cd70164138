-- A plain user may dispatch without being an administrator. Older nodes see a plain user.
alter table users add column is_dispatcher boolean not null default false;
