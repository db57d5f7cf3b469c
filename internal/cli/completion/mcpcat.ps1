# Completion of mcpcat for PowerShell. Load it in your profile:
#   mcpcat completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName mcpcat, mcpcat.exe -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Where-Object { $_.Extent.StartOffset -lt $cursorPosition } | ForEach-Object {
            if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { $_.Extent.Text }
        })
    $program = $words[0]
    $before = @($words | Select-Object -Skip 1)
    if ($wordToComplete -ne '' -and $before.Count -gt 0) { $before = @($before | Select-Object -SkipLast 1) }
    $current = $wordToComplete.TrimStart("'", '"')
    # Words go over standard input: older versions of PowerShell lose quotes in arguments.
    $lines = @(($before + $current) -join "`n" | & $program __complete powershell 2>$null)
    $lines | Select-Object -Skip 1 | ForEach-Object {
        $text, $shown, $description = $_ -split "`t", 3
        if (-not $description) { $description = $shown }
        [System.Management.Automation.CompletionResult]::new($text, $shown, 'ParameterValue', $description)
    }
}
