import { globSync, readFileSync } from 'node:fs'
import { dirname, join, matchesGlob, relative } from 'node:path'
import { expect, test } from 'vitest'
import packageJson from '../package.json' with { type: 'json' }
import { findMissingPlatformPackages, readLockfile } from './support/complete-lockfile.ts'
import { testFiles } from './vitest.config.ts'

const root = join(import.meta.dirname, '..')
const doors: Readonly<Record<string, string>> = packageJson.imports

/** Folder of the importer → folders it may reach, and only through a #door. */
const mayReach: Readonly<Record<string, readonly string[]>> = {
  gateway: ['crds', 'cabinet'],
  operator: ['crds', 'cabinet'],
  cabinet: ['crds'],
  crds: [],
  standalone: ['crds', 'cabinet', 'gateway', 'operator'],
  test: ['crds', 'cabinet', 'gateway', 'operator', 'standalone'],
}

/** Every import of a file, as a repository path (ours) or a bare specifier (a package). */
function importsOf(file: string): { specifier: string; target: string }[] {
  const source = readFileSync(join(root, file), 'utf8')
  return [...source.matchAll(/\b(?:from|import)\s*\(?\s*['"]([^'"]+)['"]/g)].map(([, specifier = '']) => {
    if (specifier.startsWith('#')) return { specifier, target: (doors[specifier] ?? '').replace(/^\.\//, '') }
    if (specifier.startsWith('.'))
      return { specifier, target: relative(root, join(root, dirname(file), specifier)) }
    return { specifier, target: specifier }
  })
}

/** Packages reached from an entry file through our own files. */
function packagesReachedFrom(entry: string): Set<string> {
  const packages = new Set<string>()
  const seen = new Set<string>()
  const queue = [entry]
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (seen.has(file)) continue
    seen.add(file)
    for (const { target } of importsOf(file)) {
      if (target.endsWith('.ts')) queue.push(target)
      else packages.add(target)
    }
  }
  return packages
}

const files = globSync('{gateway,operator,cabinet,crds,standalone,test}/**/*.ts', { cwd: root })

test('a folder is entered only through a door, and only by those allowed to', () => {
  const broken = files.flatMap((file) => {
    const home = file.split('/')[0] ?? ''
    return importsOf(file)
      .map(({ specifier, target }) => ({ specifier, away: target.split('/')[0] ?? '' }))
      .filter(
        ({ specifier, away }) =>
          away in mayReach && away !== home && !(specifier.startsWith('#') && mayReach[home]?.includes(away)),
      )
      .map(({ specifier }) => `${file} → ${specifier}`)
  })
  expect(broken).toEqual([])
})

test('the gateway never loads a Postgres client', () => {
  const reached = packagesReachedFrom('gateway/main.ts')
  expect(reached).toContain('fastify') // the walk did reach somewhere
  expect([...reached]).not.toContain('pg')
})

test('a fixture is imported by tests and fixtures only', () => {
  const isForTests = (file: string) => file.startsWith('test/') || /\.(test|fixture)\.ts$/.test(file)
  const broken = files
    .filter((file) => !isForTests(file))
    .flatMap((file) =>
      importsOf(file)
        .filter(({ target }) => target.endsWith('.fixture.ts'))
        .map(({ target }) => `${file} → ${target}`),
    )
  expect(broken).toEqual([])
})

test('no test file lies outside every Vitest project, where it would run nowhere', () => {
  const tests = globSync('**/*.test.ts', { cwd: root, exclude: ['node_modules/**'] })
  const covered = Object.values(testFiles).flat()
  expect(tests.filter((file) => !covered.some((glob) => matchesGlob(file, glob)))).toEqual([])
})

test('the lockfile names the packages of every platform, whatever registry wrote it (npm run lock)', () => {
  expect(findMissingPlatformPackages(readLockfile('package-lock.json')).map(({ path }) => path)).toEqual([])
})

test('a test file starts its servers at its top: an end that is registered inside a hook never comes', () => {
  const inside = globSync('test/**/*.test.ts', { cwd: root }).filter((file) =>
    /^[ \t]+.*\b\w+OfThisFile\(/m.test(readFileSync(join(root, file), 'utf8')),
  )
  expect(inside).toEqual([])
})
