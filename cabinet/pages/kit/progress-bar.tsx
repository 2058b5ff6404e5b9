import { classNames } from './class-names.ts'

/** How much is used up, from 0 to 1. `label` is the text for screen readers. */
export function ProgressBar({
  share,
  label,
  tone: given,
}: {
  readonly share: number
  readonly label: string
  /** For a share that is no warning, however large. */
  readonly tone?: 'accent'
}) {
  const percent = Math.round(Math.min(1, Math.max(0, share)) * 100)
  const tone = given ? 'bg-accent' : share >= 1 ? 'bg-danger' : share >= 0.8 ? 'bg-warning' : 'bg-accent'
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
      className="h-1.5 w-full overflow-hidden rounded-full border border-line bg-sunken"
    >
      <div
        className={classNames('h-full rounded-full transition-[width] forced-color-adjust-none', tone)}
        style={{ width: `${percent}%` }}
      />
    </div>
  )
}
