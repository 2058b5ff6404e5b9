import type { ClusterObject } from '../runtime/cluster-object.ts'
import { no, type Verdict } from './verdict.ts'

/** Largest number of finalizers that a condition names, to keep it readable. */
const namesMax = 5

/** `Ready` of an object that is being deleted and waits only for finalizers of others. Pure. */
export function deleting({ metadata }: Pick<ClusterObject, 'metadata'>): Verdict {
  const { finalizers = [] } = metadata
  const more = finalizers.length - namesMax
  const names = [...finalizers.slice(0, namesMax), ...(more > 0 ? [`${more} more`] : [])].join(', ')
  return no(
    'Deleting',
    names === ''
      ? 'This object is being deleted'
      : `This object is being deleted. It waits for its finalizers: ${names}`,
  )
}
