import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Queryable } from '#core/db/pool'

const folder = join(import.meta.dirname, '../../core/db')

/**
 * The functions of a migrated database by file name, `post_batch.sql`: the comment and the name of the migration that
 * defined each last, and its definition as Postgres has it.
 */
export async function describeFunctions(client: Queryable): Promise<Record<string, string>> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `select proname as name, pg_get_functiondef(oid) as definition
       from pg_proc where pronamespace = 'public'::regnamespace and prokind = 'f' order by proname collate "C"`,
  )
  const migrations = await readMigrations()
  return Object.fromEntries(
    rows.map(({ name, definition }) => [
      `${name}.sql`,
      `${headerOf(name, migrations)}${definition.trimEnd()};\n`,
    ]),
  )
}

/** The committed files of `core/db/functions`; with `UPDATE_SCHEMA=1` they are first replaced by `actual`. */
export async function readFunctionFiles(actual: Record<string, string>): Promise<Record<string, string>> {
  const functions = join(folder, 'functions')
  if (process.env.UPDATE_SCHEMA === '1') {
    await rm(functions, { recursive: true, force: true })
    await mkdir(functions)
    for (const [file, text] of Object.entries(actual)) await writeFile(join(functions, file), text)
  }
  return readAll(functions)
}

type Migration = { readonly file: string; readonly text: string }

/** The newest first. */
async function readMigrations(): Promise<readonly Migration[]> {
  const texts = await readAll(join(folder, 'migrations'))
  return Object.entries(texts)
    .map(([file, text]) => ({ file, text }))
    .reverse()
}

async function readAll(path: string): Promise<Record<string, string>> {
  const files = (await readdir(path)).sort()
  const texts = await Promise.all(files.map((file) => readFile(join(path, file), 'utf8')))
  return Object.fromEntries(files.map((file, index) => [file, texts[index] ?? '']))
}

/** A later migration may define a function again without repeating the comment of an earlier one. */
function headerOf(name: string, migrations: readonly Migration[]): string {
  const definition = new RegExp(`((?:^--.*\\n)*)^create (?:or replace )?function ${name}\\(`, 'm')
  const found = migrations.flatMap(({ file, text }) => {
    const comment = definition.exec(text)?.[1]
    return comment === undefined ? [] : [{ file, comment }]
  })
  const comments = found.map(({ comment }) => comment).filter((comment) => comment !== '')
  const complete = comments.findIndex((comment) => !comment.startsWith('-- As before'))
  const comment = comments
    .slice(0, complete + 1)
    .reverse()
    .join('')
  return `-- Generated from migrations/${found[0]?.file}: change it by a new migration.\n${comment && `--\n${comment}`}`
}
