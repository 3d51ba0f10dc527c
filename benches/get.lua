-- wrk script: reads a page of 20 emails at a random cursor. Environment: TOKEN, IDS (a file, one id per line).
local ids = {}
for line in io.lines(os.getenv("IDS")) do ids[#ids + 1] = line end

function init()
  math.randomseed(11)
  wrk.headers["Authorization"] = "Bearer " .. os.getenv("TOKEN")
end

function request()
  return wrk.format("GET", "/emails?limit=20&after=" .. ids[math.random(#ids)])
end

function done(summary, latency, _)
  local errors = summary.errors
  io.write(string.format(
    'RESULT {"requests":%d,"seconds":%.4f,"p50_ms":%.3f,"p99_ms":%.3f,"max_ms":%.3f,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    latency.max / 1e3, errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
