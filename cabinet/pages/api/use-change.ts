import { useMutation } from '@tanstack/react-query'
import { useRef } from 'react'
import { type ApiProblem, asProblem } from './problem.ts'

export type Change = {
  /** Starts the change unless it is in progress. */
  start(): void
  readonly isPending: boolean
  /** Why the last attempt failed. */
  readonly problem: ApiProblem | undefined
}

/** A change by a click, without a form: `<Button isPending={change.isPending} onClick={change.start}>`. */
export function useChange(change: () => Promise<unknown>): Change {
  const isAtWork = useRef(false) // immediately, while a state is set a moment later
  const { mutate, isPending, error } = useMutation({
    mutationFn: change,
    onSettled: () => {
      isAtWork.current = false
    },
  })
  return {
    isPending,
    problem: error === null ? undefined : asProblem(error),
    start() {
      if (isAtWork.current) return
      isAtWork.current = true
      mutate()
    },
  }
}
