import { readFileSync, writeFileSync } from 'node:fs'

/** What this file reads of an entry; npm writes more. */
type Entry = {
  readonly dev?: boolean
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

type Lockfile = { readonly packages: Readonly<Record<string, Entry>> }

/** The project's own, and that of the clients that it is tested with. */
export const lockfiles = ['package-lock.json', 'test/clients/pinned/package-lock.json'] as const

const systems = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32', 'wasi']
const processors = ['arm', 'arm64', 'ia32', 'ppc64', 'riscv64', 's390x', 'x64', 'wasm32']

type Missing = { readonly path: string; readonly entry: Entry & { readonly version: string } }

/**
 * Platform packages that others ask for and the lockfile does not name.
 *
 * npm leaves out what its registry lacks at that moment, and then `npm ci` rejects the whole lockfile wherever that is
 * so. Named, they are skipped on machines of another platform and installed where they belong.
 */
export function findMissingPlatformPackages({ packages }: Lockfile): readonly Missing[] {
  return Object.values(packages).flatMap(({ dev, optionalDependencies = {} }) =>
    Object.entries(optionalDependencies)
      .filter(([name]) => !Object.keys(packages).some((path) => path.endsWith(`node_modules/${name}`)))
      .map(([name, version]) => ({
        path: `node_modules/${name}`,
        entry: { version, ...platformOf(name), ...(dev ? { dev } : {}), optional: true },
      })),
  )
}

/** The lockfile as npm wrote it. */
export function readLockfile(file: string): Lockfile {
  return JSON.parse(readFileSync(file, 'utf8'))
}

/** Read from its name, `…-linux-arm64-musl`: all of these packages are named so. */
function platformOf(name: string) {
  const words = name.split(/[-/]/)
  const cpu = processors.filter((processor) => words.includes(processor))
  const os = systems.filter((system) => words.includes(system))
  return {
    ...(cpu.length > 0 ? { cpu } : {}),
    ...(os.length > 0 ? { os } : {}),
    ...(words.includes('musl') ? { libc: ['musl'] } : {}),
  }
}

/** Writes the missing ones into the lockfile. Run by `npm run lock` after each change of a dependency. */
function completeLockfile(file: string): void {
  const lock = readLockfile(file)
  const missing = findMissingPlatformPackages(lock).map(({ path, entry }) => [path, entry] as const)
  const packages = Object.entries({ ...lock.packages, ...Object.fromEntries(missing) })
  const sorted = packages.toSorted(([a], [b]) => (a < b ? -1 : 1))
  writeFileSync(file, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`)
}

if (import.meta.main) for (const file of lockfiles) completeLockfile(file)
