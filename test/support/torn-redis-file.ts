import { readdir, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import type { Redis } from 'ioredis'

/** The folder in which a Redis keeps its append-only files. */
export async function appendOnlyFolder(client: Redis): Promise<string> {
  const setting = async (name: string) => String((await client.config('GET', name))[1])
  return join(await setting('dir'), await setting('appenddirname'))
}

/** Cuts the last bytes off the file that a Redis, which is dead now, was appending to. */
export async function tearAppendOnlyFile(folder: string, cutBytes: number): Promise<void> {
  const numbered = (await readdir(folder)).flatMap((name) => {
    const number = /\.(\d+)\.incr\.aof$/.exec(name)?.[1]
    return number === undefined ? [] : { name, number: Number(number) }
  })
  const [newest] = numbered.toSorted((a, b) => b.number - a.number)
  if (newest === undefined) throw new Error('Redis appends to no file')
  const file = join(folder, newest.name)
  await truncate(file, Math.max(0, (await stat(file)).size - cutBytes))
}
