import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { docFiles } from './internal/doc-files.ts'

/** `npm run docs`: writes the pages that the code determines. */
const docs = join(import.meta.dirname, '..')
for (const [path, text] of docFiles()) writeFileSync(join(docs, path), text)
