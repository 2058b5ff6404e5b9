import { useMutation } from '@tanstack/react-query'
import { useRef } from 'react'
import { type ApiProblem, asProblem } from './problem.ts'

export type Change = {
  /** Begins it, unless it is at work already. */
  start(): void
  readonly isPending: boolean
  /** Why the last one did not work. */
  readonly problem: ApiProblem | undefined
}

/** A change by a press alone, without a form: `<Button isPending={change.isPending} onClick={change.start}>`. */
export function useChange(change: () => Promise<unknown>): Change {
  const isAtWork = useRef(false) // at once, where a state is set a moment later
  const { mutate, isPending, error } = useMutation({
    mutationFn: change,
    onSettled: () => {
      isAtWork.current = false
    },
  })
  return {
    ...{ isPending, problem: error === null ? undefined : asProblem(error) },
    start() {
      if (isAtWork.current) return
      isAtWork.current = true
      mutate()
    },
  }
}
