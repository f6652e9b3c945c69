# Installs the Muster agent on Windows (preview), or removes it. Run it as an administrator:
#
#   irm https://HOST/install.ps1 | iex
#
# It asks for the enrollment key, or reads MUSTER_ENROLLMENT_KEY. MUSTER_UNINSTALL=1 removes the agent.
$ErrorActionPreference = 'Stop'
Set-StrictMode -Version 2

function Install-MusterAgent {
    $url = '@PUBLIC_URL@'
    $program = Join-Path $env:ProgramFiles 'muster-agent'
    $data = Join-Path $env:ProgramData 'muster-agent'
    $state = Join-Path $data 'state'
    $config = Join-Path $data 'config.json'
    $task = 'Muster agent'

    $me = [Security.Principal.WindowsPrincipal][Security.Principal.WindowsIdentity]::GetCurrent()
    if (-not $me.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)) {
        throw 'muster-agent: run this as an administrator'
    }

    function Stop-Agent {
        schtasks /End /TN $task 2>$null | Out-Null
        Get-Process -Name 'muster-agent' -ErrorAction SilentlyContinue |
            Where-Object { $_.Path -like "$program\versions\*" } | Stop-Process -Force
    }

    if ($env:MUSTER_UNINSTALL) {
        Stop-Agent
        schtasks /Delete /F /TN $task 2>$null | Out-Null
        Remove-Item -Recurse -Force $program, $data -ErrorAction SilentlyContinue
        Write-Host 'muster-agent: removed. The device stays in the console until it is decommissioned there.'
        return
    }

    if ($env:PROCESSOR_ARCHITECTURE -ne 'AMD64') { throw "muster-agent: there is no agent for $env:PROCESSOR_ARCHITECTURE" }
    $key = $env:MUSTER_ENROLLMENT_KEY
    if (-not $key) {
        $secure = Read-Host -AsSecureString 'Enrollment key'
        $key = [Net.NetworkCredential]::new('', $secure).Password
    }
    if ($key -notmatch '^[0-9a-fA-F]{64}$') { throw 'muster-agent: an enrollment key has 64 hexadecimal digits' }

    [Net.ServicePointManager]::SecurityProtocol = [Net.SecurityProtocolType]::Tls12
    $temp = New-Item -ItemType Directory -Path (Join-Path ([IO.Path]::GetTempPath()) ([Guid]::NewGuid()))
    try {
        $route = "$url/api/v1/agents/download/windows/amd64"
        $note = Join-Path $temp 'manifest'
        Invoke-WebRequest -UseBasicParsing -Uri "$route/manifest" -OutFile $note
        $manifest = (Get-Content -Encoding UTF8 $note | Select-Object -First 1) | ConvertFrom-Json
        if ($manifest.version -notmatch '^[0-9A-Za-z.-]+$') { throw 'muster-agent: the manifest names no version' }
        $artifact = $manifest.artifacts | Where-Object { $_.os -eq 'windows' -and $_.arch -eq 'amd64' } | Select-Object -First 1
        $file = Join-Path $temp 'file.gz'
        Invoke-WebRequest -UseBasicParsing -Uri "${route}?component=agent&version=$($manifest.version)" -OutFile $file
        if ((Get-FileHash -Algorithm SHA256 $file).Hash.ToLower() -ne $artifact.sha256) {
            throw 'muster-agent: the download has another digest than the manifest says'
        }
        $exe = Join-Path $temp 'program.exe'
        $from = [IO.Compression.GZipStream]::new([IO.File]::OpenRead($file), [IO.Compression.CompressionMode]::Decompress)
        $to = [IO.File]::Create($exe)
        $from.CopyTo($to); $to.Close(); $from.Close()
        & $exe verify --manifest $note $exe
        if ($LASTEXITCODE -ne 0) { throw 'muster-agent: nobody whom the program trusts signed it' }

        Stop-Agent
        $sha = (Get-FileHash -Algorithm SHA256 $exe).Hash.ToLower()
        $target = Join-Path $program "versions\$($manifest.version)-$($sha.Substring(0, 12))"
        New-Item -ItemType Directory -Force -Path $target, $state | Out-Null
        # Administrators and the system alone: the token is in it.
        icacls $data /inheritance:r /grant 'SYSTEM:(OI)(CI)F' 'Administrators:(OI)(CI)F' | Out-Null
        Copy-Item -Force $exe (Join-Path $target 'muster-agent.exe')
        @{ version = $manifest.version; size = (Get-Item $exe).Length; sha256 = $sha; counter = $manifest.counter; component = 'agent' } |
            ConvertTo-Json -Compress | Set-Content -Encoding ASCII (Join-Path $target 'release.json')
        foreach ($name in 'current', 'watchdog') {
            $link = Join-Path $program $name
            if (Test-Path $link) { (Get-Item $link).Delete() }
            New-Item -ItemType Junction -Path $link -Target $target | Out-Null
        }
        @{ url = $url; programFolder = $program; stateFolder = $state } |
            ConvertTo-Json | Set-Content -Encoding ASCII $config
        Set-Content -NoNewline -Encoding ASCII (Join-Path $state 'enrollment.key') $key
        schtasks /Create /F /TN $task /RU SYSTEM /SC ONSTART /TR "`"$program\watchdog\muster-agent.exe`" supervise" | Out-Null
        schtasks /Run /TN $task | Out-Null
    } finally {
        Remove-Item -Recurse -Force $temp
    }

    for ($tries = 0; $tries -lt 60; $tries++) {
        & "$program\current\muster-agent.exe" status *> $null
        if ($LASTEXITCODE -eq 0) { Write-Host "muster-agent: $($manifest.version) is online"; return }
        Start-Sleep -Milliseconds 500
    }
    & "$program\current\muster-agent.exe" doctor
    throw 'muster-agent: installed, but not online after 30 s: the lines above say what to do'
}

Install-MusterAgent
