import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { definitions } from './definition.ts'
import { yamlOf } from './yaml.ts'

for (const [file, definition] of definitions())
  writeFileSync(join(import.meta.dirname, file), yamlOf(definition))
