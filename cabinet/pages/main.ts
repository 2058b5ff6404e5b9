import process from 'node:process'

const startedAtMs = performance.now()
process.env.NODE_ENV = 'production' // before the tools are loaded: they depend on it
const { buildPages } = await import('./build/build.ts')
await buildPages()
process.stderr.write(
  `Built the cabinet's pages in ${((performance.now() - startedAtMs) / 1000).toFixed(1)} s\n`,
)
