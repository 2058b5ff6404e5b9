import { imageSize } from 'image-size'
import type { ImageRule } from '../model-families.ts'

type Size = { readonly width: number; readonly height: number }

/**
 * The tokens of an image by its vendor's formula. If its size is unknown (`bytes` absent, or not readable),
 * the most that any image has, and `null` if there is no such figure.
 */
export function tokensOfImage(rule: ImageRule, detail: 'low' | 'high', bytes: Buffer | null): number | null {
  if (rule.kind === 'flat') return rule.tokens
  if (rule.kind === 'tiles' && detail === 'low') return rule.base
  const size = bytes === null ? undefined : sizeOf(bytes)
  switch (rule.kind) {
    case 'tiles':
      return rule.base + rule.perTile * (size === undefined ? tilesMax : tilesOf(size))
    case 'patches': {
      const patches = size === undefined ? patchesMax : squaresOf(size, 32)
      return Math.ceil(Math.min(patches, patchesMax) * rule.multiplier)
    }
    case 'crops':
      return size === undefined ? null : rule.perCrop * cropsOf(size)
  }
}

const patchesMax = 1_536
/** 2048 × 768 in squares of 512. */
const tilesMax = 8

function tilesOf(size: Size): number {
  const fitting = scaled(size, Math.min(1, 2_048 / Math.max(size.width, size.height)))
  return squaresOf(scaled(fitting, Math.min(1, 768 / Math.min(fitting.width, fitting.height))), 512)
}

function cropsOf(size: Size): number {
  return size.width <= 384 && size.height <= 384 ? 1 : squaresOf(size, 768)
}

function scaled({ width, height }: Size, factor: number): Size {
  return { width: width * factor, height: height * factor }
}

function squaresOf({ width, height }: Size, side: number): number {
  return Math.ceil(width / side) * Math.ceil(height / side)
}

function sizeOf(bytes: Buffer): Size | undefined {
  try {
    const { width, height } = imageSize(bytes)
    return width > 0 && height > 0 ? { width, height } : undefined
  } catch {
    return undefined // not an image that it can read
  }
}
