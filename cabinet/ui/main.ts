import { buildPages } from './build-pages.ts'

const startedAtMs = performance.now()
await buildPages()
process.stderr.write(
  `Built the cabinet's pages in ${((performance.now() - startedAtMs) / 1000).toFixed(1)} s\n`,
)
