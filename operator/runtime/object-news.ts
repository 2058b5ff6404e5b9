import type { ClusterObject } from './cluster-object.ts'

/** Tells changes that matter from the echo of our own writes, which come back as events like any other. */
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

/** What people write: everything but status and bookkeeping. */
export function specInput({ metadata }: ClusterObject): string {
  const { uid, generation, labels, annotations, deletionTimestamp } = metadata
  return JSON.stringify([uid, generation, labels, annotations, deletionTimestamp])
}
