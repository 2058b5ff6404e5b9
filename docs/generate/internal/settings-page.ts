import { hostname } from 'node:os'
import { z } from 'zod'
import { envSchema as administration } from '#cabinet/administration/config'
import { envSchema as web } from '#cabinet/web/config'
import { envSchema as webhook } from '#cabinet/webhook/config'
import { oldNamesEndIn, oldSettingOf } from '#core/process/renamed'
import { envSchema as gateway } from '#gateway/config'
import { envSchema as operator } from '#operator/config'
import { envSchema as releaseFinalizers } from '#operator/release-finalizers/config'
import { envSchema as standalone } from '#standalone/config'
import { envSchema as worker } from '#worker/config'
import { code, page, table } from './markdown.ts'
import { propertyComments } from './source.ts'

type Program = { readonly title: string; readonly schema: z.ZodObject; readonly file: string }

const programs: readonly Program[] = [
  { title: 'Gateway', schema: gateway, file: 'gateway/config.ts' },
  { title: 'Worker', schema: worker, file: 'worker/config.ts' },
  { title: 'Cabinet', schema: web, file: 'cabinet/web/config.ts' },
  { title: 'Administration', schema: administration, file: 'cabinet/administration/config.ts' },
  { title: 'Webhook receiver', schema: webhook, file: 'cabinet/webhook/config.ts' },
  { title: 'Operator', schema: operator, file: 'operator/config.ts' },
  {
    title: '`npm run release-finalizers`',
    schema: releaseFinalizers,
    file: 'operator/release-finalizers/config.ts',
  },
  { title: '`npm start`', schema: standalone, file: 'standalone/config.ts' },
]

/** Settings that several processes read. */
const sharedFiles = ['cabinet/payments/payment-settings.ts', 'core/ledger/trial-settings.ts']

/** Defaults whose value does not explain itself, or depends on the machine. */
const described: ReadonlyMap<unknown, string> = new Map([
  [hostname(), 'the host name'],
  ['::', 'every address'],
  ['all', '`*`'],
  ['', 'none'],
  [undefined, 'none'],
])

export function settingsPage(): string {
  return page(
    '# Settings',
    'Made by `npm run docs` from the `config.ts` of each process. The chart sets most of them; `env` of a process in the [values](values.md) sets the rest.',
    'Each setting can come from a file: `NAME_FILE` is the path of a file with the value of `NAME`. One line break at its end is ignored. It is an error to set both, or to name an empty or unreadable file.',
    'Key lists are comma-separated: the first key writes, all of them read. [Rotate secrets](operations.md#rotate-secrets) describes how to replace one.',
    `Renamed settings, whose old names work until ${oldNamesEndIn}: ${renamedSettings().join(', ')}. If both are set, the new name takes precedence.`,
    ...programs.flatMap(({ title, ...program }) => [`## ${title}`, settingsTable(program)]),
  )
}

/** The settings of this page that have an old name. */
function renamedSettings(): readonly string[] {
  const names = new Set(programs.flatMap(({ schema }) => Object.keys(schema.shape)))
  return [...names].flatMap((name) => {
    const oldName = oldSettingOf(name)
    return oldName === undefined ? [] : [`${code(oldName)} is ${code(name)}`]
  })
}

function settingsTable({ schema, file }: Omit<Program, 'title'>): string {
  const comments = new Map([...sharedFiles, file].flatMap((path) => [...propertyComments(path)]))
  const rows = Object.entries(schema.shape).map(([name, setting]) => {
    const meaning = comments.get(name)
    if (meaning === undefined) throw new Error(`${file}: ${name} has no comment`)
    return [code(name), setting.safeParse(undefined).success ? shownDefault(setting) : 'required', meaning]
  })
  return table(['setting', 'default', 'meaning'], rows)
}

function shownDefault(setting: z.core.$ZodType): string {
  const value = findDefault(setting)
  if (Array.isArray(value) && value.length === 0) return 'none'
  return described.get(value) ?? code(String(value).replaceAll(',', ', '))
}

/** The default as it is written in the environment, if there is one. */
function findDefault(setting: z.core.$ZodType): unknown {
  if (setting instanceof z.ZodDefault || setting instanceof z.ZodPrefault) return setting.def.defaultValue
  return setting instanceof z.ZodPipe ? findDefault(setting.def.in) : undefined
}
