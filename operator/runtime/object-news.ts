import type { ClusterObject } from './cluster-object.ts'

/**
 * Separates changes that matter from the echo of the operator's own writes, which come back as events like
 * any other.
 */
export type ObjectNews = { isNews(key: string, object: ClusterObject | undefined): boolean }

/** @param inputOf everything of an object that decides anything, as text. */
export function createObjectNews(inputOf: (object: ClusterObject) => string): ObjectNews {
  const inputs = new Map<string, string>()
  return {
    isNews(key, object) {
      const before = inputs.get(key)
      if (object === undefined) return inputs.delete(key)
      const input = inputOf(object)
      inputs.set(key, input)
      return input !== before
    },
  }
}

/** The fields that users write: everything but status and bookkeeping. Of a deleted object also what it waits for. */
export function specInput({ metadata }: ClusterObject): string {
  const { uid, generation, labels, annotations, deletionTimestamp, finalizers } = metadata
  const waitsFor = deletionTimestamp === undefined ? undefined : finalizers
  return JSON.stringify([uid, generation, labels, annotations, deletionTimestamp, waitsFor])
}
