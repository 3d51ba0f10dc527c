-- wrk script: requests each path of a file once, in order, as a browser does, and then stops. Environment: PATHS (a file, one
-- path per line). The duration of wrk is the maximum; `took_s` is the time until the last response, and 0 if the
-- duration was too short for all paths.
local ffi = require("ffi")
ffi.cdef("typedef struct { long s; long ns; } bench_time; int clock_gettime(int clock, bench_time *time);")
local MONOTONIC = 1
local AGENT = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36"

local pool, sent, answered, began = {}, 0, 0, 0
local is_checked = false
took_s = 0
local threads = {}

local function now()
  local time = ffi.new("bench_time")
  ffi.C.clock_gettime(MONOTONIC, time)
  return tonumber(time.s) + tonumber(time.ns) / 1e9
end

function setup(thread)
  threads[#threads + 1] = thread
end

function init()
  local headers = { ["User-Agent"] = AGENT }
  for path in io.lines(os.getenv("PATHS")) do pool[#pool + 1] = wrk.format("GET", path, headers) end
end

function request()
  -- wrk asks for one request before it begins, to parse it, and does not send it.
  if not is_checked then
    is_checked = true
    return pool[1]
  end
  if sent == 0 then began = now() end
  -- The connections that wait for the last responses repeat the last path.
  sent = math.min(sent + 1, #pool)
  return pool[sent]
end

function response()
  answered = answered + 1
  if answered == #pool then
    took_s = now() - began
    wrk.thread:stop()
  end
end

function done(summary, latency, _)
  local errors = summary.errors
  io.write(string.format(
    'RESULT {"requests":%d,"seconds":%.4f,"took_s":%.4f,"p50_ms":%.3f,"p99_ms":%.3f,"max_ms":%.3f,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration / 1e6, threads[1]:get("took_s"), latency:percentile(50) / 1e3,
    latency:percentile(99) / 1e3, latency.max / 1e3, errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
