import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { withPinnedImage } from './internal/pin-image.ts'

/** `node release/pin-image/main.ts REPOSITORY sha256:…` writes the image into the chart's default values. */
const argumentsSchema = z.tuple([
  z.string().regex(/^[a-z0-9./_-]+$/),
  z.string().regex(/^sha256:[0-9a-f]{64}$/),
])
const file = join(import.meta.dirname, '../../charts/model-gateway/values.yaml')
const [repository, digest] = argumentsSchema.parse(process.argv.slice(2))
writeFileSync(file, withPinnedImage(readFileSync(file, 'utf8'), { repository, digest }))
