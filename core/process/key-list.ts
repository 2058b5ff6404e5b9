/**
 * Secret keys of one purpose: the first one writes, all of them read. A new key is rolled out at the end of the list,
 * and moved to the front once every process has it. The old one is dropped once nothing is left that it wrote.
 */
export type KeyList<Key> = readonly [first: Key, ...others: Key[]]
