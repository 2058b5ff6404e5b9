import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Queryable } from '#core/db/pool'

const folder = join(import.meta.dirname, '../../core/db')

/**
 * The functions of a migrated database by file name, `post_batch.sql`: the migration that defined each last, the comment
 * of its file, and its definition as Postgres has it.
 */
export async function describeFunctions(client: Queryable): Promise<Record<string, string>> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `select proname as name, string_agg(rtrim(pg_get_functiondef(oid), E'\\n'), E';\\n\\n' order by pronargs desc) as definition
       from pg_proc where pronamespace = 'public'::regnamespace and prokind = 'f'
      group by proname order by proname collate "C"`,
  )
  const migrations = await readMigrations()
  const files = await readAll(join(folder, 'functions'))
  return Object.fromEntries(
    rows.map(({ name, definition }) => [
      `${name}.sql`,
      `${headerOf(name, migrations, files)}${definition.trimEnd()};\n`,
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

/** Which migration defines a function, and the comment of its file; of a new function, that of the migration. */
function headerOf(
  name: string,
  migrations: readonly Migration[],
  files: Readonly<Record<string, string>>,
): string {
  const definition = new RegExp(`((?:^--.*\\n)*)^create (?:or replace )?function ${name}\\(`, 'm')
  const found = migrations.flatMap(({ file, text }) => {
    const comment = definition.exec(text)?.[1]
    return comment === undefined ? [] : [{ file, comment: comment && `--\n${comment}` }]
  })
  const kept = /^-- Defined by .*\n((?:--.*\n)*)/.exec(files[`${name}.sql`] ?? '')?.[1]
  return `-- Defined by migrations/${found[0]?.file}; change it by a new migration.\n${kept ?? found[0]?.comment ?? ''}`
}
