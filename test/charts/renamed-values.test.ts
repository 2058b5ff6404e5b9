import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { oldNamesEndIn, renamed } from '#core/process/renamed'
import { folderOfThisTest } from '../support/folder.ts'
import { chartFolder, findHelm, helmMajor, helmOk } from '../support/helm.ts'

type Values = Readonly<Record<string, unknown>>

const program = await findHelm()

/** Every kind of object that a renamed value may change. */
const everything: Values = {
  demo: { enabled: true },
  ingress: { enabled: true },
  httpRoute: { enabled: true, gateway: { parentRefs: [{ name: 'public' }] } },
}

/** Of each renamed value, one that differs from its default. */
const samples: Readonly<Record<keyof typeof renamed.values, unknown>> = {
  demo: { organization: 'acme', podCidrs: ['10.1.0.0/16'], postgres: { image: 'postgres:18' } },
  'demo.testPaymentsUrl': 'http://payments.example',
  'demo.services': { storage: '1Gi', resources: { limits: { memory: '1Gi' } } },
  webhook: { enabled: true, replicas: 5, allowedCidrs: ['192.0.2.0/24'], podLabels: { team: 'billing' } },
  'ingress.webhook': { className: 'nginx', annotations: { a: 'b' }, traefik: { middleware: true } },
  'httpRoute.webhook': { parentRefs: [{ name: 'payments' }] },
}

/** The objects of a release, or its notes. */
async function render(command: 'template' | 'install', ...all: readonly Values[]): Promise<string> {
  const folder = folderOfThisTest('values')
  const files = all.flatMap((values, n) => {
    const file = join(folder, `${n}.yaml`)
    writeFileSync(file, stringify(values))
    return ['--values', file]
  })
  const how = command === 'template' ? ['--kube-version', '1.36.0'] : ['--dry-run=client']
  return helmOk(program, [command, 'mg', chartFolder, ...how, '--namespace', 'mg', ...files])
}

const at = (path: string, value: unknown): Values =>
  path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Values

const entries = Object.entries(renamed.values).map(([name, oldName]) => ({
  name,
  oldName,
  sample: samples[name as keyof typeof samples],
}))

test.each(entries)('$oldName, which is now $name, still works', async ({ name, oldName, sample }) => {
  const [unset, byNewName, byOldName] = await Promise.all([
    render('template', everything),
    render('template', everything, at(name, sample)),
    render('template', everything, at(oldName, sample)),
  ])
  expect(byNewName).not.toBe(unset)
  expect(byOldName).toBe(byNewName)
})

// Helm 3 needs a cluster to show notes.
test.skipIf(helmMajor === 3)('the notes name each old name that is set, and its new one', async () => {
  const notesOf = async (name: 'name' | 'oldName') =>
    render('install', everything, ...entries.map((entry) => at(entry[name], entry.sample)))
  const line = `Deprecated values are set, which stop working in ${oldNamesEndIn}: `
  const named = entries.map(({ name, oldName }) => `${oldName} is now ${name}`)
  const [, shown = ''] = new RegExp(`${line}(.*)\\.\n`).exec(`${await notesOf('oldName')}\n`) ?? []
  expect(shown.split(', ')).toEqual(named)
  expect(await notesOf('name')).not.toContain('Deprecated')
})

test('a value under its old name may be false', async () => {
  const [byNewName, byOldName] = await Promise.all([
    render('template', everything, { webhook: { enabled: false } }),
    render('template', everything, { receiver: { enabled: false } }),
  ])
  expect(byNewName).not.toContain('cabinet/webhook/main.ts')
  expect(byOldName).toBe(byNewName)
})

test('a new name that is set takes precedence over the old one, value by value', async () => {
  // As when processes are stopped for a restore, by the new name, of a release whose values have the old one.
  const both = { receiver: { replicas: 3, heapMb: 99 }, webhook: { replicas: 0 } }
  expect(await render('template', everything, both)).toBe(
    await render('template', everything, { webhook: { replicas: 0, heapMb: 99 } }),
  )
})

test('the values that helm upgrade --reuse-values keeps of the release before are enough', async () => {
  const { demo, webhook, ingress, httpRoute } = parse(readFileSync(join(chartFolder, 'values.yaml'), 'utf8'))
  const { testPaymentsUrl: tillUrl, services, processes: _, ...others } = demo
  const kept = {
    demo: null,
    webhook: null,
    trial: { ...others, enabled: true, tillUrl, demo: services },
    receiver: webhook,
    ingress: { webhook: null, receiver: ingress.webhook },
    httpRoute: { webhook: null, receiver: httpRoute.webhook },
  }
  const ofToday = await render('template', everything, { demo: { processes: null } })
  expect(await render('template', everything, kept)).toBe(ofToday)
})

test('each template that reads a renamed value moves the old ones first, in whatever order Helm takes them', () => {
  const templates = globSync('**/*.{yaml,txt,tpl}', { cwd: join(chartFolder, 'templates') })
  const texts = new Map(
    templates.map((path) => [path, readFileSync(join(chartFolder, 'templates', path), 'utf8')]),
  )
  const parts = [...texts.values()].flatMap((text) => text.split(/(?=\{\{-? define )/))
  const bodies = new Map(parts.map((part) => [/define "([\w.]+)"/.exec(part)?.[1] ?? '', part]))
  const reads = (text: string): boolean =>
    /\bv?\.(?:Values\.)?(?:demo|webhook)\b/i.test(text) ||
    [...text.matchAll(/include "([\w.]+)"/g)].some(([, name = '']) => readsByName(name))
  const known = new Map<string, boolean>()
  function readsByName(name: string): boolean {
    if (!known.has(name)) {
      known.set(name, false) // while it is being read: a template may include itself
      known.set(name, name !== 'mg.renamedValues' && reads(bodies.get(name) ?? ''))
    }
    return known.get(name) === true
  }
  const moving = [...texts].filter(([path, text]) => !path.endsWith('.tpl') && reads(text))
  expect(moving.length).toBeGreaterThan(15)
  expect(moving.filter(([, text]) => !text.startsWith('{{- include "mg.renamedValues" . -}}\n'))).toEqual([])
})
