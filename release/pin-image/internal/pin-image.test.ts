import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { withPinnedImage } from './pin-image.ts'

const values = readFileSync(join(import.meta.dirname, '../../../charts/model-gateway/values.yaml'), 'utf8')

test('a published chart runs the image of its release, and all other values stay', () => {
  const image = { repository: 'ghcr.io/somebody/model-gateway', digest: `sha256:${'0a'.repeat(32)}` }
  const pinned = withPinnedImage(values, image)
  const before = parse(values)
  expect(parse(pinned)).toEqual({ ...before, image: { ...before.image, ...image } })
  expect(pinned.match(/^ *#/gm)).toEqual(values.match(/^ *#/gm))
})
