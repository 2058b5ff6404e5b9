import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as breathe } from 'node:timers/promises'
import { type Reading, type Resource, readDocument, type Subjects, splitDocuments } from './read-document.ts'

/** Largest file, in bytes: 10,000 routes take about 5 MiB. */
const fileBytesMax = 32 * 1024 * 1024
/** Maximum number of files, and of documents in all files. */
const filesMax = 10_000
const documentsMax = 50_000
/** Longest time that parsing blocks the process, in ms. The gateway runs in the same process. */
const sliceMs = 10

/** A position in a file. `file` is the full path of a file, or the name of an environment variable. */
export type Position = { readonly file: string; readonly line: number }

/** A problem, explained to the author of the file. */
export type Problem = {
  readonly position: Position
  readonly what: string
  readonly reason: string
  readonly about: Subjects
}

/** A valid document. */
export type Manifest<Kind extends Resource = Resource> = {
  readonly resource: Kind
  readonly position: Position
  /** The text of the document, for finding the line of a field. */
  readonly text: string
}

/** The contents of a folder at one moment. */
export type Folder = {
  /** The full path; `null`: no folder. */
  readonly path: string | null
  readonly manifests: readonly Manifest[]
  readonly problems: readonly Problem[]
}

export type FolderReader = {
  /**
   * Reads every `*.yaml` and `*.yml` of the folder.
   * @throws Error when the folder cannot be read
   */
  read(): Promise<Folder>
}

/** Reads a folder repeatedly. Unchanged documents are not parsed again. */
export function createFolderReader(folder: string): FolderReader {
  let known = new Map<string, Reading>()
  return {
    async read() {
      const next: typeof known = new Map()
      const manifests: Manifest[] = []
      const problems: Problem[] = []
      let sliceEndsAtMs = performance.now() + sliceMs
      for (const { file, text, problem } of await readFiles(folder)) {
        if (problem !== undefined) problems.push(fileProblem(file, problem))
        for (const { text: part, linesBefore } of splitDocuments(text)) {
          if (next.size >= documentsMax) {
            problems.push(fileProblem(file, `has documents beyond the limit of ${documentsMax} for a folder`))
            break
          }
          const reading = known.get(part) ?? readDocument(part)
          next.set(part, reading)
          if (reading.kind === 'empty') continue
          const position = { file, line: linesBefore + reading.line }
          if (reading.kind === 'resource')
            manifests.push({ resource: reading.resource, position, text: part })
          else {
            const { what, reason, about } = reading
            problems.push({ position, what, reason, about })
          }
          if (performance.now() < sliceEndsAtMs) continue
          await breathe()
          sliceEndsAtMs = performance.now() + sliceMs
        }
      }
      known = next
      return { path: folder, manifests, problems }
    },
  }
}

/** Names and file times of a folder's manifests. Changes when a manifest does. Cheap enough for polling. */
export async function readFingerprint(folder: string): Promise<string> {
  const { files, leftOut } = await manifestFiles(folder)
  const stats = await Promise.all(
    files.map(async (file) => {
      const { mtimeMs, size, ino } = await stat(file)
      return `${file}:${mtimeMs}:${size}:${ino}`
    }),
  )
  return [...stats, ...leftOut].join('\n')
}

type FileReading = { readonly file: string; readonly text: string; readonly problem?: string }

/** An empty file is being written, or is a mistake. Its resources stay until it is deleted. */
async function readFiles(folder: string): Promise<readonly FileReading[]> {
  const { files, leftOut } = await manifestFiles(folder)
  const readings = await Promise.all(
    files.map(async (file): Promise<FileReading> => {
      try {
        const { size } = await stat(file)
        if (size > fileBytesMax) return { file, text: '', problem: `is larger than ${fileBytesMax} bytes` }
        const text = await readFile(file, 'utf8')
        if (text.trim() !== '') return { file, text }
        return { file, text, problem: 'is empty; delete the file to remove its resources' }
      } catch (error) {
        return { file, text: '', problem: error instanceof Error ? error.message : String(error) }
      }
    }),
  )
  const [file] = leftOut
  if (file === undefined) return readings
  const count = files.length + leftOut.length
  const problem = `is ignored, like every file after it by name: the folder has ${count} files, the limit is ${filesMax}`
  return [...readings, { file, text: '', problem }]
}

/** Full paths, sorted by name, and the number of files beyond the limit. */
async function manifestFiles(
  folder: string,
): Promise<{ readonly files: readonly string[]; readonly leftOut: readonly string[] }> {
  const entries = await readdir(folder, { withFileTypes: true })
  // Dot files belong to editors and Kubernetes. A mounted ConfigMap consists of links.
  const files = entries
    .filter((entry) => /^[^.].*\.ya?ml$/.test(entry.name) && !entry.isDirectory())
    .map(({ name }) => join(folder, name))
    .toSorted()
  return { files: files.slice(0, filesMax), leftOut: files.slice(filesMax) }
}

function fileProblem(file: string, reason: string): Problem {
  return { position: { file, line: 1 }, what: 'the file', reason, about: null }
}
