-- wrk script: sends the requests of a file in random order. Environment: TOKEN, REQUESTS (a file, one
-- METHOD<tab>PATH[<tab>BODY] per line).
local pool, lines = {}, {}
for line in io.lines(os.getenv("REQUESTS")) do lines[#lines + 1] = line end

function init()
  math.randomseed(13)
  local headers = { ["Authorization"] = "Bearer " .. os.getenv("TOKEN"), ["Content-Type"] = "application/json" }
  for i, line in ipairs(lines) do
    local method, path, body = line:match("^(%u+)\t([^\t]+)\t?(.*)$")
    pool[i] = wrk.format(method, path, headers, method ~= "GET" and body or nil)
  end
end

function request()
  return pool[math.random(#pool)]
end

function done(summary, latency, _)
  local errors = summary.errors
  io.write(string.format(
    'RESULT {"requests":%d,"seconds":%.4f,"p50_ms":%.3f,"p99_ms":%.3f,"max_ms":%.3f,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    latency.max / 1e3, errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
