import type { Job } from '#core/process/job'

/** One run of a job in a process that does not stop. */
export async function runJob(job: Job | undefined): Promise<'more' | 'idle'> {
  if (job === undefined) throw new Error('no such job')
  return job.run(AbortSignal.any([]), AbortSignal.any([]))
}
