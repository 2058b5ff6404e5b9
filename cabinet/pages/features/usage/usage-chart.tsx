import { useRef, useState } from 'react'
import { useWords } from '../../i18n/language.ts'
import { Money } from '../../kit/money.tsx'
import { Section } from '../../kit/section.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { compareRubles, digitsOf, shareOf } from '../../money/rubles.ts'
import { barAt, barByKey } from './chosen-bar.ts'
import { usageWords } from './messages.ts'
import { isOfAll, type Metric, measure } from './usage-metric.ts'
import { axisTop, type Bar, barsOf, type Series, seriesOf, type Usage } from './usage-series.ts'
import {
  useBarName,
  useIsCounted,
  useMetricText,
  usePeriodName,
  useRequestsOf,
  useSeriesName,
} from './usage-words.ts'

const fills = [
  'fill-series-1',
  'fill-series-2',
  'fill-series-3',
  'fill-series-4',
  'fill-series-5',
  'fill-series-7',
  'fill-series-8',
  'fill-series-6',
]

/** The height of the drawing; its width is the number of bars, and CSS stretches both. */
const high = 1_000

/** Stacked bars; a pointer or the arrow keys choose one, and the legend below shows its parts. */
export function UsageChart({ usage, metric }: { readonly usage: Usage; readonly metric: Metric }) {
  const words = useWords(usageWords)
  const textOf = useMetricText(metric)
  const seriesName = useSeriesName()
  const barName = useBarName(usage)
  const [chosen, setChosen] = useState<number>()
  const series = seriesOf(
    usage.data,
    isOfAll(metric) ? words.metrics[metric] : words.other,
    seriesName,
    metric,
  )
  const bars = barsOf(usage, series, metric)
  const top = axisTop(
    bars
      .map(({ value }) => value)
      .toSorted(compareRubles)
      .at(-1) ?? '0',
    metric === 'cost' ? undefined : '1',
  )
  const bar = chosen === undefined ? undefined : bars[chosen]
  const period = usePeriodName(usage)
  const isCounted = useIsCounted(usage, metric)
  const total = isCounted(undefined) ? textOf(measure(metric, [usage.totals])) : words.noData
  return (
    <Section title={words.charts[metric]}>
      <div className="grid gap-4">
        <div className="flex gap-2 text-xs text-muted">
          <Axis top={textOf(top, 'exact')} bottom={textOf('0', 'exact')} />
          <div className="relative h-56 min-w-0 flex-1">
            <Bars
              bars={bars}
              top={top}
              chosen={chosen}
              name={words.chartName(words.charts[metric], period, total)}
            />
            <Scrubber
              count={bars.length}
              chosen={chosen}
              onChoose={setChosen}
              text={
                bar === undefined
                  ? words.wholePeriod
                  : `${barName(bar.start)}: ${isCounted(bar.start) ? textOf(bar.value) : words.noData}`
              }
            />
          </div>
        </div>
        <TimeAxis bars={bars} barName={barName} />
        <Parts usage={usage} metric={metric} series={series} bar={bar} onAll={() => setChosen(undefined)} />
      </div>
    </Section>
  )
}

function Axis({ top, bottom }: { readonly top: string; readonly bottom: string }) {
  return (
    <div aria-hidden="true" className="flex h-56 flex-col justify-between text-end tabular-nums">
      <span className="-mt-2">{top}</span>
      <span className="-mb-2">{bottom}</span>
    </div>
  )
}

function Bars({
  bars,
  top,
  chosen,
  name,
}: {
  readonly bars: readonly Bar[]
  readonly top: string
  readonly chosen: number | undefined
  readonly name: string
}) {
  const gap = bars.length > 100 ? 0.05 : 0.2
  return (
    <svg
      role="img"
      aria-label={name}
      className="h-full w-full border-b border-edge forced-color-adjust-none"
      viewBox={`0 0 ${bars.length} ${high}`}
      preserveAspectRatio="none"
    >
      <path
        d={`M0 0H${bars.length}M0 ${high / 2}H${bars.length}`}
        className="stroke-line"
        vectorEffect="non-scaling-stroke"
      />
      {bars.map(({ start, parts, value }, index) => (
        <g
          key={start}
          data-value={value}
          className={chosen === undefined || chosen === index ? '' : 'opacity-40'}
        >
          {stack(parts, top).map(({ part, y, height }, at) => (
            <rect
              // biome-ignore lint/suspicious/noArrayIndexKey: the position of a series is its identity
              key={at}
              data-value={part}
              x={index + gap / 2}
              y={y}
              width={1 - gap}
              height={height}
              className={fills[at]}
            />
          ))}
        </g>
      ))}
    </svg>
  )
}

/** From the bottom up. */
function stack(parts: readonly string[], top: string) {
  let y = high
  return parts.map((part) => {
    const height = shareOf(part, top) * high
    y -= height
    return { part, y, height }
  })
}

/**
 * Above the bars: a pointer or a tap chooses the bar under it. A native slider, which no pointer reaches, is for
 * keyboards and screen readers; its lowest value is the whole period, so that every bar is a change from it.
 */
function Scrubber({
  count,
  chosen,
  onChoose,
  text,
}: {
  readonly count: number
  readonly chosen: number | undefined
  readonly onChoose: (index: number | undefined) => void
  readonly text: string
}) {
  const words = useWords(usageWords)
  const slider = useRef<HTMLInputElement>(null)
  const chooseAt = ({ currentTarget, clientX }: React.MouseEvent) => {
    const { left, width } = currentTarget.getBoundingClientRect()
    onChoose(barAt(clientX - left, width, count))
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keyboards and screen readers use the slider inside it
    // biome-ignore lint/a11y/useKeyWithClickEvents: the slider handles keys
    <div
      className="absolute inset-0 cursor-crosshair touch-pan-y rounded-sm outline-offset-4 outline-accent has-focus-visible:outline-2"
      onPointerMove={chooseAt}
      onClick={(event) => {
        chooseAt(event)
        slider.current?.focus({ preventScroll: true })
      }}
    >
      <input
        ref={slider}
        type="range"
        aria-label={words.scrubber}
        aria-valuetext={text}
        min={-1}
        max={count - 1}
        value={chosen ?? -1}
        className="pointer-events-none h-full w-full opacity-0"
        onChange={({ target }) => onChoose(target.valueAsNumber < 0 ? undefined : target.valueAsNumber)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onChoose(undefined)
          const index = hasModifier(event) ? undefined : barByKey(event.key, chosen, count)
          if (index === undefined) return
          event.preventDefault()
          onChoose(index)
        }}
      />
    </div>
  )
}

/** A browser shortcut, for example Alt + arrow for "back". */
const hasModifier = ({ altKey, ctrlKey, metaKey }: React.KeyboardEvent) => altKey || ctrlKey || metaKey

/** A few labels below the bars, so that none overlap. */
function TimeAxis({
  bars,
  barName,
}: {
  readonly bars: readonly Bar[]
  readonly barName: (start: string) => string
}) {
  const shown = [0, Math.floor((bars.length - 1) / 2), bars.length - 1].flatMap((at) => bars[at]?.start ?? [])
  return (
    <div aria-hidden="true" className="flex justify-between gap-2 ps-14 text-xs text-muted">
      {[...new Set(shown)].map((start) => (
        <span key={start}>{barName(start)}</span>
      ))}
    </div>
  )
}

const backgrounds = [
  'bg-series-1',
  'bg-series-2',
  'bg-series-3',
  'bg-series-4',
  'bg-series-5',
  'bg-series-7',
  'bg-series-8',
  'bg-series-6',
]

/** The legend, with the value of each series in the chosen bar or in the whole period. */
function Parts({
  usage,
  metric,
  series,
  bar,
  onAll,
}: {
  readonly usage: Usage
  readonly metric: Metric
  readonly series: readonly Series[]
  readonly bar: Bar | undefined
  readonly onAll: () => void
}) {
  const words = useWords(usageWords)
  const barName = useBarName(usage)
  const requestsOf = useRequestsOf(usage, metric)
  const isCounted = useIsCounted(usage, metric)
  const digits = metric === 'cost' ? digitsOf(series.map(({ value }) => value)) : undefined
  const value = bar?.value ?? measure(metric, [usage.totals])
  return (
    <div className="grid gap-3 border-t border-line pt-4">
      <div className="flex min-h-8 flex-wrap items-center gap-x-4 gap-y-1">
        <p className="font-medium">
          {bar === undefined ? words.wholePeriod : barName(bar.start)}:{' '}
          {isCounted(bar?.start) ? <Value metric={metric} value={value} /> : words.noData}
          {metric !== 'requests' && <> · {words.requests(bar?.requests ?? usage.totals.requests)}</>}
        </p>
        <TextLink href={requestsOf({ start: bar?.start })}>{words.showRequests}</TextLink>
        {bar !== undefined && (
          <button type="button" className="min-h-6 text-sm text-muted underline" onClick={onAll}>
            {words.backToAll}
          </button>
        )}
      </div>
      <ul className="grid gap-x-6 gap-y-1 sm:grid-cols-2">
        {series.map(({ id, name, value: whole }, index) => (
          <li key={id === undefined ? 'other' : `of ${id}`} className="flex items-center gap-2 text-sm">
            <span
              aria-hidden="true"
              className={`size-3 shrink-0 rounded-xs forced-color-adjust-none ${backgrounds[index]}`}
            />
            <span className="min-w-0 flex-1 truncate">
              {id === undefined ? (
                name
              ) : (
                <TextLink href={requestsOf({ start: bar?.start, id })}>{name}</TextLink>
              )}
            </span>
            <Value
              metric={metric}
              value={bar === undefined ? whole : (bar.parts[index] ?? '0')}
              digits={digits}
            />
          </li>
        ))}
      </ul>
    </div>
  )
}

function Value({
  metric,
  value,
  digits,
}: {
  readonly metric: Metric
  readonly value: string
  readonly digits?: number | undefined
}) {
  const textOf = useMetricText(metric)
  if (metric === 'cost')
    return <Money rubles={value} {...(digits === undefined ? { isSpent: true } : { digits })} />
  return (
    <data value={value} className="whitespace-nowrap tabular-nums">
      {textOf(value)}
    </data>
  )
}
